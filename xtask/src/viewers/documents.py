"""Reads tables, drawings and JSON with Python's own readers and tells what they saw.

usage: python3 documents.py FILE... | --schema SCHEMA FILE...
For each file one line of JSON is printed: the lines of a CSV file, the names and widths in an SVG file, and whatever a JSON
file fails to keep of its schema.
"""

import csv
import json
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"


def table(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def drawing(path):
    frames = tree.parse(path).getroot().iter(SVG + "g")
    return {frame.get("data-n"): float(frame.find(SVG + "rect").get("width")) for frame in frames}


def faults(path, schema):
    import jsonschema

    with open(schema, encoding="utf-8") as rules, open(path, encoding="utf-8") as file:
        validator = jsonschema.Draft7Validator(json.load(rules))
        return [error.message for error in validator.iter_errors(json.load(file))]


def main(arguments):
    schema = None
    if arguments[0] == "--schema":
        schema, arguments = arguments[1], arguments[2:]
    for path in arguments:
        if schema:
            answer = faults(path, schema)
        else:
            answer = drawing(path) if path.endswith(".svg") else table(path)
        print(json.dumps(answer))


main(sys.argv[1:])
