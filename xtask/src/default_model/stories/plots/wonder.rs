//! Something looks or sounds like more than it is.

use super::Plot;

struct Sound {
    sound: &'static str,
    guess: &'static str,
    truth: &'static str,
    where_: &'static str,
    deed: &'static str,
}

const SOUNDS: &[Sound] = &[
    Sound {
        sound: "Tap, tap, tap",
        guess: "a ghost with long fingers",
        truth: "branch",
        where_: "at the window",
        deed: "tied the branch back with a string",
    },
    Sound {
        sound: "Scratch, scratch",
        guess: "a dragon with sharp teeth",
        truth: "mouse",
        where_: "behind the cupboard",
        deed: "gave the mouse a piece of cheese",
    },
    Sound {
        sound: "Hoo, hoo",
        guess: "a ghost that cannot sleep",
        truth: "owl",
        where_: "on the roof",
        deed: "waved to the owl",
    },
    Sound {
        sound: "Bump, bump",
        guess: "a giant with big boots",
        truth: "hedgehog",
        where_: "in a flower pot",
        deed: "helped the hedgehog out of the pot",
    },
    Sound {
        sound: "Squeak, squeak",
        guess: "a witch on an old broom",
        truth: "gate",
        where_: "in the wind",
        deed: "closed the gate and went back to bed",
    },
    Sound {
        sound: "Drip, drip, drip",
        guess: "a monster from the sea",
        truth: "drop of rain",
        where_: "under a hole in the roof",
        deed: "put a bucket under it, and it sounded like music",
    },
    Sound {
        sound: "Crunch, crunch",
        guess: "a wolf that eats chairs",
        truth: "rabbit",
        where_: "in the kitchen with a carrot",
        deed: "let the rabbit eat the rest of the carrot",
    },
];

/// A sound in the night.
pub const SOUND: Plot = Plot {
    name: "sound",
    cast: |cast| {
        cast.hero();
        cast.elder();
        let row = cast.row(SOUNDS);
        cast.bind("sound", row.sound);
        cast.bind("guess", row.guess);
        cast.bind("truth", row.truth);
        cast.bind("where", row.where_);
        cast.bind("deed", row.deed);
        cast.any("light", &["lamp", "candle", "lantern"]);
    },
    beats: &[
        &[
            "One night {hero} lay in bed and could not sleep.",
            "{opening} One night {he} woke up.",
            "It was a dark night, and {hero} was in bed.",
            "{opening} It was late, and all the others were asleep.",
        ],
        &[
            "There was a strange sound. \"{sound}!\"",
            "\"{sound}!\" What was that?",
            "{He} heard something. \"{sound},\" it went. \"{sound}.\"",
        ],
        &[
            "\"Maybe it is {guess},\" thought {hero}.",
            "\"That must be {guess}!\" thought {hero}, and {he} was afraid.",
            "{hero} thought of {guess} and shook with fear.",
        ],
        &[
            "{He} held {his} pillow tight. But the sound did not stop.",
            "{He} ran to {his} {elder}. \"There is {guess}!\" {he} cried. \"We will see,\" said {his} {elder}.",
            "\"I will be brave,\" {he} said to {his} pillow.",
            "\"Did you hear that?\" {he} asked the cat. But the cat was asleep.",
        ],
        &[
            "{He} took a {light} and went to look, step by step.",
            "Very quietly {he} got up and lit a {light}.",
            "With a {light} in {his} hand {he} went through the dark house.",
        ],
        &[
            "And what did {he} see? It was only a {truth} {where}!",
            "There was no ghost and no giant. There was only a {truth} {where}.",
            "{He} held up the {light}. A {truth}! There it was, {where}.",
        ],
        &[
            "\"So it was you!\" said {hero} and laughed.",
            "{hero} laughed so loudly that everybody woke up.",
            "\"And I was afraid of you,\" said {hero} and smiled.",
        ],
        &[
            "{He} {deed}.",
            "Then {he} {deed}, and soon all was quiet.",
            "{He} {deed}. After that {he} slept until the morning.",
        ],
    ],
};

/// The moon in the water.
pub const MOON: Plot = Plot {
    name: "moon",
    cast: |cast| {
        cast.pet();
        cast.any("small", &["rabbit", "mouse", "hedgehog", "kitten", "puppy", "frog", "piglet"]);
        cast.any("water", &["pond", "well", "lake", "bucket"]);
        cast.any("tool", &["a net", "a long spoon", "a basket", "a rope", "an old hat"]);
        cast.any("wise", &["owl", "turtle", "toad", "swan", "heron"]);
        let lights = [("moon", "round and white"), ("star", "small and bright")];
        let (light, like) = *cast.row(&lights);
        cast.bind("light", light);
        cast.bind("like", like);
    },
    beats: &[
        &[
            "Once upon a time there was a little {small} called {pet}.",
            "One warm night a little {small} called {pet} could not sleep.",
            "There once was a {small} named {pet}, who loved the night.",
        ],
        &[
            "One night {pet} went to the {water} to drink. There was a {light} in the water, {like}!",
            "{pet} looked into the {water} and saw a {light}. It was {like}.",
            "{pet} came to the {water}, and in it lay a {light}, {like}.",
        ],
        &[
            "\"Oh no!\" cried {pet}. \"The {light} has fallen into the {water}!\"",
            "\"Poor {light}!\" said {pet}. \"You must be cold and wet.\"",
            "\"Wait, dear {light}, I will save you!\" said {pet}.",
        ],
        &[
            "{pet} ran home and came back with {tool}.",
            "The little {small} took {tool} and began to fish for the {light}.",
            "{pet} got {tool} and tried to pull the {light} out.",
        ],
        &[
            "But each time the {light} broke into a hundred pieces.",
            "But there was only water in it, again and again.",
            "{pet} pulled and pulled and fell in. Splash!",
        ],
        &[
            "\"What are you doing?\" asked the {wise}. \"I am saving the {light},\" said {pet}.",
            "An old {wise} sat there and watched. \"Look up, {pet},\" said the {wise}.",
            "The {wise} laughed softly. \"Look up, little {small},\" it said.",
        ],
        &[
            "{pet} looked up. There was the {light}, high in the sky and quite dry.",
            "And there, over the trees, was the {light}, as bright as ever.",
            "{pet} lifted its head. The {light} was up in the sky, where it had always been.",
        ],
        &[
            "\"I did it!\" cried {pet}. \"I saved the {light}!\" And the {wise} said, \"Yes, you did.\"",
            "\"It must have climbed up again,\" said {pet} and was happy.",
            "{pet} laughed and said good night to both of them, the one above and the one below.",
            "Then {pet} went home, and the {light} went with {pet} all the way.",
        ],
    ],
};
