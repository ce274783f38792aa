//! What is lost is found, what is broken is mended, who is alone comes home.

use super::Plot;

/// A thing is lost and found again.
pub const LOST: Plot = Plot {
    name: "lost",
    cast: |cast| {
        cast.hero();
        cast.elder();
        cast.thing();
        cast.place();
        cast.animal();
    },
    beats: &[
        &[
            "{opening} {He} had a {fine} {thing} and took it everywhere.",
            "{opening} {His} {elder} gave {him} a {fine} {thing}, and {he} loved it very much.",
            "{hero} had a {fine} {thing}. It was a present from {his} {elder}, and {he} liked to {joy}.",
            "Once upon a time there was a {girl} called {hero}, who had a {fine} {thing}. {He} liked to {joy}.",
            "{opening} Of all {his} things {he} liked {his} {fine} {thing} best.",
        ],
        &[
            "One {weather} [morning|day|afternoon] {he} took it {to}.",
            "One {weather} [morning|day|afternoon] {hero} and {his} {thing} went {to}.",
            "On a {weather} day {he} went {to} with it.",
            "One day {he} played with it {at} [all morning|for a long time].",
        ],
        &[
            "But on the way home the {thing} was gone.",
            "When it was time to go home, {he} could not find the {thing}.",
            "But when the sun went down, the {thing} was gone.",
            "Then {he} fell asleep in the sun, and when {he} woke up, the {thing} was lost.",
        ],
        &[
            "\"Oh no! Where is my {thing}?\" cried {hero}.",
            "{hero} looked here and {hero} looked there, but {he} could not see it. {He} was very sad.",
            "{hero} was so sad that {he} began to cry.",
            "\"My {thing} is lost,\" said {hero}, and a tear ran down {his} cheek.",
        ],
        &[
            "A {wild} {animal} came by and asked, \"Why are you sad?\" \"I have lost my {thing},\" said {hero}.",
            "A {wild} {animal} heard {him}. \"Do not cry,\" said the {animal}. \"I will help you.\"",
            "Just then a {wild} {animal} came along. \"What is the matter?\" it asked. \"I cannot find my {thing},\" said {hero}.",
            "\"I can help you,\" said a {wild} {animal}. \"We will look for it together.\"",
        ],
        &[
            "The {animal} {seeks}. And there was the {thing}, {hide}!",
            "The {animal} {seeks}, and soon it found the {thing} {hide}.",
            "So the {animal} {seeks}. \"Here is your {thing}!\" it called. It was {hide}.",
            "They looked everywhere. Then the {animal} {seeks} and found the {thing} {hide}.",
        ],
        &[
            "\"Thank you, dear {animal}!\" said {hero}, and {he} was happy again.",
            "{hero} was so glad that {he} danced.",
            "{hero} laughed for joy and held {his} {fine} {thing} tight.",
            "Now {hero} was not sad any more. {He} gave the {animal} {a food} to say thank you.",
        ],
        &[
            "",
            "From that day on, {hero} and the {animal} were friends.",
            "They walked home together, and the {thing} came too.",
            "At home {he} told {his} {elder} all about the {wild} {animal}.",
            "The next day {he} came back to play with the {animal}.",
        ],
    ],
};

struct Break {
    thing: &'static str,
    like: &'static [&'static str],
    breaks: &'static str,
    mends: &'static str,
}

const fn breaks(
    thing: &'static str,
    like: &'static [&'static str],
    breaks: &'static str,
    mends: &'static str,
) -> Break {
    Break { thing, like, breaks, mends }
}

const BREAKS: &[Break] = &[
    breaks("kite", &["red", "green", "long"], "it fell and its string broke", "tied a new string to it"),
    breaks("cart", &["little", "wooden", "blue"], "a wheel came off", "put the wheel back on with a nail"),
    breaks(
        "cup",
        &["blue", "white", "pretty"],
        "it fell down and its handle broke off",
        "put the handle back on with glue",
    ),
    breaks("doll", &["soft", "old", "little"], "one arm came off", "sewed the arm back on"),
    breaks("drum", &["red", "round", "loud"], "there was a hole in it", "put a patch over the hole"),
    breaks("chair", &["little", "green", "wooden"], "one leg broke", "made a new leg from wood"),
    breaks("boat", &["white", "little", "wooden"], "its sail tore in the wind", "made a new sail from an old shirt"),
    breaks("umbrella", &["yellow", "big", "green"], "there was a hole in it", "sewed a patch over the hole"),
    breaks("clock", &["old", "round", "golden"], "it did not tick any more", "cleaned all the tiny wheels in it"),
    breaks("book", &["thick", "old", "blue"], "a page fell out", "put the page back in with glue"),
    breaks("swing", &["new", "red", "wooden"], "its rope broke", "tied a strong new rope to it"),
];

/// A thing breaks, and somebody mends it.
pub const BROKEN: Plot = Plot {
    name: "broken",
    cast: |cast| {
        cast.hero();
        cast.elder();
        let row = cast.row(BREAKS);
        cast.bind("thing", row.thing);
        cast.any("fine", row.like);
        cast.bind("breaks", row.breaks);
        cast.bind("mends", row.mends);
    },
    beats: &[
        &[
            "{opening} {He} had a {fine} {thing}, and {he} was proud of it.",
            "{opening} {He} had a {fine} {thing} that {his} {elder} had made.",
            "{hero} had a {fine} {thing} and would not give it away for anything.",
            "There once was a {girl} called {hero}, who had a {fine} {thing}.",
        ],
        &[
            "But one day {breaks}.",
            "One {weather} [morning|day|afternoon] something bad happened: {breaks}.",
            "One day {he} was not careful, and {breaks}.",
            "Then, on a {weather} day, {breaks}.",
        ],
        &[
            "\"Oh no!\" cried {hero}. \"My {thing} is broken!\"",
            "{hero} was sad. \"Now I have no {thing} any more,\" {he} said.",
            "{hero} cried and cried, for {he} had only one {thing}.",
            "{hero} hid the {thing} under the bed and did not say a word.",
        ],
        &[
            "{His} {elder} saw it and said, \"Do not be sad. We can mend it.\"",
            "\"Why are you so quiet?\" asked {his} {elder}. \"The {thing} is broken,\" said {hero}. \"Then we will mend it,\" said {his} {elder}.",
            "{He} brought the {thing} to {his} {elder}. \"Can you help me?\" {he} asked. \"We will try,\" said {his} {elder}.",
            "{His} {elder} smiled and said, \"What is broken can be made whole again.\"",
        ],
        &[
            "{hero} held the {thing}, and {his} {elder} {mends}.",
            "They sat down at the table, and {his} {elder} {mends}.",
            "{His} {elder} got the tool box and {mends}.",
            "First they drank some tea. Then {his} {elder} {mends}.",
        ],
        &[
            "Soon the {thing} was as good as new.",
            "Now the {thing} was even better than before.",
            "And look, the {fine} {thing} was whole again!",
        ],
        &[
            "{hero} was happy and gave {his} {elder} a big hug.",
            "\"Thank you!\" said {hero}, and {he} was glad again.",
            "{hero} laughed and clapped {his} hands.",
            "\"Next time I will be careful,\" said {hero}, and {he} smiled.",
        ],
        &[
            "",
            "That night the {thing} stood beside {his} bed.",
            "Since then {hero} can mend things too.",
            "Then they went out to play in the sun.",
        ],
    ],
};

struct Baby {
    baby: &'static str,
    mother: &'static str,
    call: &'static str,
    home: &'static str,
}

const fn baby(baby: &'static str, mother: &'static str, call: &'static str, home: &'static str) -> Baby {
    Baby { baby, mother, call, home }
}

const BABIES: &[Baby] = &[
    baby("duckling", "duck", "Peep, peep", "by the pond"),
    baby("kitten", "cat", "Mew, mew", "in the barn"),
    baby("puppy", "dog", "Yip, yip", "beside the mill"),
    baby("lamb", "sheep", "Baa, baa", "on the green hill"),
    baby("calf", "cow", "Moo, moo", "behind the fence"),
    baby("chick", "hen", "Cheep, cheep", "in the hen house"),
    baby("foal", "horse", "Hee, hee", "in the meadow"),
    baby("bear cub", "bear", "Hum, hum", "in the deep forest"),
    baby("piglet", "pig", "Oink, oink", "on the farm"),
];

/// A small animal finds its mother.
pub const BABY: Plot = Plot {
    name: "baby",
    cast: |cast| {
        cast.hero();
        cast.place();
        let row = cast.row(BABIES);
        cast.bind("baby", row.baby);
        cast.bind("mother", row.mother);
        cast.bind("call", row.call);
        cast.bind("nest", row.home);
    },
    beats: &[
        &[
            "{opening} One {weather} [morning|day] {he} went for a walk.",
            "One {weather} [morning|day|afternoon] {hero} went for a long walk.",
            "{opening} One day {he} was {at} when {he} heard a small voice.",
            "One {weather} day {hero} heard a small voice {at}.",
        ],
        &[
            "\"{call}!\" It was a little {baby}, all alone.",
            "There sat a little {baby} {hide}. \"{call}!\" it said.",
            "\"{call}!\" A little {baby} stood there and shook with fear.",
        ],
        &[
            "\"Are you lost, little {baby}?\" asked {hero}. \"Yes,\" said the {baby}. \"I want my mother.\"",
            "\"Where is your mother?\" asked {hero}. \"I do not know,\" said the {baby}, and it began to cry.",
            "\"I saw a butterfly and ran after it,\" said the {baby}. \"Now I cannot find my mother.\"",
        ],
        &[
            "{hero} took the {baby} in {his} arms. \"I will take you home,\" {he} said.",
            "\"Come with me,\" said {hero}. \"We will find her together.\"",
            "\"Do not be afraid,\" said {hero}. \"I know where she is.\"",
        ],
        &[
            "They walked and walked. At last they saw a big {mother} {nest}.",
            "They went over the bridge and past the old oak. There, {nest}, stood a {mother}.",
            "They asked a bee and they asked a snail. The snail said, \"There is a {mother} {nest}.\"",
        ],
        &[
            "\"Mother!\" cried the {baby}, and it ran as fast as it could.",
            "\"{call}!\" called the {baby}, and the {mother} came running.",
            "\"There you are, my little one!\" said the {mother}.",
        ],
        &[
            "The {mother} was so happy that she kissed the {baby} on the nose.",
            "The {mother} and her {baby} were together again, and both were happy.",
            "\"Thank you for bringing my {baby} home,\" said the {mother} to {hero}.",
        ],
        &[
            "",
            "{hero} waved and went home with a warm heart.",
            "After that {hero} often came to see the {baby}.",
            "And {hero} went home to {his} own mother.",
        ],
    ],
};
