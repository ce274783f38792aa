//! Somebody needs help, and somebody has it to give.

use super::Plot;

struct Trouble {
    animal: &'static str,
    trouble: &'static str,
    plea: &'static str,
    help: &'static str,
    thanks: &'static str,
}

const TROUBLES: &[Trouble] = &[
    Trouble {
        animal: "kitten",
        trouble: "sat high up in a tree",
        plea: "I cannot climb down",
        help: "got a ladder and carried it down",
        thanks: "sat on the doorstep and purred",
    },
    Trouble {
        animal: "bird",
        trouble: "lay on the ground under its nest",
        plea: "I cannot fly yet",
        help: "climbed up and put it back into its nest",
        thanks: "sang at the window",
    },
    Trouble {
        animal: "frog",
        trouble: "swam round and round in a deep bucket",
        plea: "I cannot get out",
        help: "put a stick into the bucket, and it climbed out",
        thanks: "sat by the door with a shiny stone",
    },
    Trouble {
        animal: "bee",
        trouble: "lay in a puddle with wet wings",
        plea: "I cannot fly any more",
        help: "held out a leaf and put it into the sun to dry",
        thanks: "brought a drop of honey",
    },
    Trouble {
        animal: "goat",
        trouble: "had its head in the fence",
        plea: "I am stuck",
        help: "bent the fence and set it free",
        thanks: "stood at the gate with a flower in its mouth",
    },
    Trouble {
        animal: "hedgehog",
        trouble: "was caught in an old net",
        plea: "I cannot move my feet",
        help: "cut the net and set it free",
        thanks: "left a red apple at the door",
    },
    Trouble {
        animal: "fox",
        trouble: "had its tail under a heavy stone",
        plea: "It hurts so much",
        help: "pushed the stone away",
        thanks: "came to the garden and bowed",
    },
    Trouble {
        animal: "snail",
        trouble: "sat in the middle of the road",
        plea: "I am too slow, and the carts are so fast",
        help: "carried it over to the other side",
        thanks: "had drawn a silver heart on the wall",
    },
    Trouble {
        animal: "duck",
        trouble: "had a long string around its feet",
        plea: "I cannot swim any more",
        help: "untied the string",
        thanks: "brought all its ducklings to say hello",
    },
];

/// An animal is in trouble, and is helped.
pub const RESCUE: Plot = Plot {
    name: "rescue",
    cast: |cast| {
        cast.hero();
        let row = cast.row(TROUBLES);
        cast.bind("animal", row.animal);
        cast.bind("trouble", row.trouble);
        cast.bind("plea", row.plea);
        cast.bind("help", row.help);
        cast.bind("thanks", row.thanks);
        cast.any("wild", &["little", "small", "poor", "young"]);
    },
    beats: &[
        &[
            "{opening} One {weather} [morning|day|afternoon] {he} heard somebody cry.",
            "One {weather} [morning|day|afternoon] {hero} was on the way home from school.",
            "{opening} {He} loved all animals, big and small.",
            "It was a {weather} [morning|day|afternoon], and {hero} was out for a walk.",
        ],
        &[
            "Suddenly {he} saw a {wild} {animal}. It {trouble}.",
            "There was a {wild} {animal} that {trouble}.",
            "Then {he} saw that a {wild} {animal} {trouble}.",
        ],
        &[
            "\"Help!\" cried the {animal}. \"{plea}!\"",
            "\"{plea},\" said the {animal} in a small voice. \"Please help me!\"",
            "\"What is the matter?\" asked {hero}. \"{plea},\" said the {animal}.",
        ],
        &[
            "{hero} felt sorry for it. \"Do not be afraid,\" {he} said.",
            "\"Wait, I will help you,\" said {hero}.",
            "At first {hero} did not know what to do. Then {he} had an idea.",
        ],
        &["Very carefully {he} {help}.", "{He} did not think for long. {He} {help}.", "{He} was brave and {help}."],
        &[
            "\"Thank you, {hero},\" said the {animal}. \"You are a good friend.\"",
            "\"You are so kind!\" said the {animal}, and it was happy.",
            "The {animal} was so glad that it could not say a word.",
        ],
        &[
            "The next morning the {animal} {thanks}.",
            "And what do you think? The next day the {animal} {thanks}.",
            "A week later the {animal} {thanks}, and {hero} smiled.",
        ],
        &["", "", "They were friends for ever after.", "{hero} never forgot that day."],
    ],
};

/// Somebody has food, and somebody is hungry.
pub const SHARED: Plot = Plot {
    name: "shared",
    cast: |cast| {
        cast.hero();
        cast.elder();
        cast.place();
        cast.animal();
        cast.any("mood", &["a bad mood", "no money", "a long way to go", "nobody to talk to"]);
    },
    beats: &[
        &[
            "{opening} One {weather} [morning|day] {his} {elder} gave {him} {a food} to take along.",
            "{hero} had {a food} for lunch. {His} {elder} had put it into a little bag.",
            "{opening} One day {he} sat {at} with {a food} in {his} hand.",
            "On a {weather} day {hero} went {to}. {He} had {a food} in {his} bag.",
        ],
        &[
            "A {wild} {animal} came and looked at the {food}.",
            "Just as {he} wanted to eat, a {wild} {animal} came by.",
            "Not far away sat a {wild} {animal}. It looked thin and sad.",
        ],
        &[
            "\"I am so hungry,\" said the {animal}. \"I have not eaten all day.\"",
            "\"Hello,\" said {hero}. \"Are you hungry?\" The {animal} nodded.",
            "\"That smells good,\" said the {animal}, and its tummy rumbled.",
        ],
        &[
            "{hero} was hungry too, and there was only one. {He} thought about it.",
            "{hero} looked at the {food}. It was not very big.",
            "\"I have only this,\" thought {hero}. \"But two halves are better than one.\"",
        ],
        &[
            "Then {he} broke the {food} in two and gave one half to the {animal}.",
            "\"We can share it,\" {he} said. One half of the {food} was for {hero}, and one half was for the {animal}.",
            "So {he} gave the {animal} the bigger half of the {food}.",
        ],
        &[
            "They sat side by side and ate, and it tasted better than ever.",
            "\"Thank you,\" said the {animal} with its mouth full.",
            "The {animal} ate it all up and was not sad any more.",
        ],
        &[
            "Then it began to rain, and the {animal} showed {hero} a dry place under a tree.",
            "Then the {animal} showed {hero} where the sweet berries grow.",
            "Then the {animal} told {him} a funny story, and they laughed until the sun went down.",
            "On the way home it grew dark, but the {animal} went with {hero} and knew the way.",
        ],
        &[
            "",
            "Since that day {hero} always takes two lunches along.",
            "\"A friend is better than a big lunch,\" said {hero} that night.",
            "And that is how {hero} found a friend.",
        ],
    ],
};

/// Nobody believes in somebody small, until somebody small is needed.
pub const TINY: Plot = Plot {
    name: "tiny",
    cast: |cast| {
        cast.pet();
        cast.any("tiny", &["mouse", "beetle", "ant", "ladybird", "spider"]);
        let pairs = [("bear", "fox"), ("horse", "goat"), ("cow", "dog"), ("wolf", "owl"), ("bear", "badger")];
        let (big, other) = *cast.row(&pairs);
        cast.bind("big", big);
        cast.bind("other", other);
        cast.any("treasure", &["key", "ring", "coin", "bell", "button"]);
        cast.any("shine", &["golden", "silver", "shiny", "little"]);
        cast.any("hole", &["a deep hole", "a hollow tree", "the old wall", "a crack in the rock"]);
        cast.any("work", &["build a house", "carry wood", "pull a cart", "move a big stone"]);
    },
    beats: &[
        &[
            "Once upon a time there was a tiny {tiny} called {pet}.",
            "Deep in the forest lived a tiny {tiny} called {pet}.",
            "{pet} was a {tiny}, and {pet} was very, very small.",
            "There once was a {tiny} named {pet}, who was no bigger than a bean.",
        ],
        &[
            "One day the {big} and the {other} wanted to {work}.",
            "The {big} and the {other} were hard at work. They had to {work}.",
            "One morning {pet} saw the {big} and the {other}, who wanted to {work}.",
        ],
        &[
            "\"May I help you?\" asked {pet}. \"No,\" said the {big}. \"You are too small.\"",
            "\"I want to help!\" said {pet}. But the {big} only laughed. \"You are too small,\" it said.",
            "\"You are too small to help us,\" said the {other} to {pet}, and the {big} laughed.",
        ],
        &[
            "{pet} was sad and sat down under a leaf.",
            "{pet} went away and did not say a word.",
            "",
            "\"I wish I were big,\" thought {pet} sadly.",
        ],
        &[
            "Then the {big} lost its {shine} {treasure}. It fell into {hole}.",
            "Suddenly there was a cry: the {shine} {treasure} of the {big} had fallen into {hole}!",
            "But then something fell into {hole}. It was the {shine} {treasure} of the {big}.",
        ],
        &[
            "The {big} was too big, and the {other} was too fat. They could not get it.",
            "The {big} put in its nose, but it could not reach it. The {other} could not reach it either.",
            "The {big} pushed and the {other} pulled, but it was no use.",
        ],
        &[
            "\"I can do it!\" said {pet}. The {tiny} crept in and came back with the {treasure}.",
            "Then {pet} crept into {hole}, for a {tiny} fits in everywhere, and brought the {treasure} back.",
            "\"Let me try,\" said {pet}. And soon the tiny {tiny} came out again with the {treasure}.",
        ],
        &[
            "\"Thank you, {pet}!\" said the {big}. \"Small is just right.\"",
            "\"We are sorry that we laughed,\" said the {big} and the {other}. Now {pet} was proud and happy.",
            "The {big} danced for joy, and {pet} was the hero of the day.",
            "From that day on, nobody said that {pet} was too small.",
        ],
    ],
};
