//! Something is made: a present, a flower, a day indoors.

use super::Plot;

struct Present {
    present: &'static str,
    made: &'static str,
    kept: &'static str,
}

const fn present(present: &'static str, made: &'static str, kept: &'static str) -> Present {
    Present { present, made, kept }
}

const PRESENTS: &[Present] = &[
    present("crown", "went to the meadow and made a crown of daisies", "wore the crown all day, even at dinner"),
    present("cake", "took flour and eggs and baked a little cake", "ate the cake to the last crumb"),
    present("stone", "found a round stone and painted a sun on it", "put the stone on the window sill"),
    present("picture", "took the colours and painted a picture of the house", "hung the picture over the fireplace"),
    present("boat", "made a little boat from the bark of a tree", "let the boat float in the big tub"),
    present("song", "sat down on the stairs and made up a song", "wanted to hear the song three times"),
    present("box", "glued shells on an old box until it shone", "kept all the buttons in the box"),
    present("bird", "folded a bird from blue paper", "hung the bird over the bed"),
    present("scarf", "took red wool and made a very long scarf", "wore the scarf although it was warm"),
];

/// Who has no money can still give something.
pub const GIFT: Plot = Plot {
    name: "gift",
    cast: |cast| {
        cast.hero();
        cast.elder();
        let row = cast.row(PRESENTS);
        cast.bind("present", row.present);
        cast.bind("made", row.made);
        cast.bind("kept", row.kept);
        cast.any("coins", &["only one coin", "only two coins", "only three buttons"]);
    },
    beats: &[
        &[
            "{opening} Tomorrow was the birthday of {his} {elder}.",
            "Soon it would be the birthday of {his} {elder}, and {hero} had no present.",
            "{opening} {He} wanted to give {his} {elder} a present.",
            "\"Tomorrow is the birthday of my {elder},\" thought {hero}. \"What can I give {elder.him}?\"",
        ],
        &[
            "{He} looked into {his} box and found {coins}.",
            "{He} went to the shop, but {he} had {coins}, and everything was too dear.",
            "But {he} had {coins}.",
        ],
        &[
            "{hero} was sad and thought for a long time.",
            "\"What can I do?\" {he} asked the cat. The cat only purred.",
            "{He} sat on the stairs and put {his} head in {his} hands.",
        ],
        &[
            "Then {he} had an idea. {He} {made}.",
            "\"I know!\" {he} said. {He} {made}.",
            "\"I can make something,\" {he} thought. So {he} {made}.",
        ],
        &[
            "The {present} was not perfect, but it was made with love.",
            "It took all evening, and then the {present} was ready.",
            "When it was dark, the {present} was ready at last.",
        ],
        &[
            "The next morning {he} said, \"Happy birthday! This {present} is for you.\"",
            "In the morning {hero} gave {his} {elder} the {present}. {His} heart beat fast.",
            "\"I made this {present} for you,\" said {hero} in the morning.",
        ],
        &[
            "{His} {elder} smiled and {kept}.",
            "\"It is the best present of all!\" said {his} {elder}, and {elder.he} {kept}.",
            "{His} {elder} was so glad that {elder.he} {kept}.",
        ],
        &["", "", "And {hero} was even happier than {his} {elder}.", "{hero} had never been so proud."],
    ],
};

struct Seed {
    seed: &'static str,
    grows: &'static str,
    end: &'static str,
}

const fn seed(seed: &'static str, grows: &'static str, end: &'static str) -> Seed {
    Seed { seed, grows, end }
}

const SEEDS: &[Seed] = &[
    seed("sunflower", "a sunflower that was taller than the house", "In autumn all the birds came to eat the seeds"),
    seed("bean", "a bean plant that climbed up to the roof", "There was bean soup for the whole street"),
    seed("pumpkin", "a pumpkin that was as big as a cart", "They made a lantern and ten pumpkin pies"),
    seed("apple", "a little apple tree with white blossoms", "Years later everybody ate sweet apples under the tree"),
    seed(
        "strawberry",
        "a bush of strawberries as red as the evening sun",
        "There was strawberry jam for the whole winter",
    ),
    seed("rose", "a rose that smelled like summer", "Everybody who came by stopped to smell the rose"),
    seed("carrot", "a carrot so long that three had to pull it out", "There was carrot cake for everybody"),
];

/// What is small and slow to come is worth the wait.
pub const SEED: Plot = Plot {
    name: "seed",
    cast: |cast| {
        cast.hero();
        cast.elder();
        let row = cast.row(SEEDS);
        cast.bind("seed", row.seed);
        cast.bind("grows", row.grows);
        cast.bind("end", row.end);
        cast.any(
            "giver",
            &["an old woman", "a blue bird", "a man with a big hat", "{his} {elder}", "a travelling mouse"],
        );
    },
    beats: &[
        &[
            "{opening} One day {giver} gave {him} a {seed} seed.",
            "One spring day {hero} got a {seed} seed from {giver}.",
            "{hero} had a {seed} seed. It was tiny and brown.",
            "{opening} In {his} pocket {he} found a {seed} seed.",
        ],
        &[
            "{He} put it into the ground behind the house and gave it some water.",
            "{He} made a hole in the ground, put the seed in and said, \"Sleep well.\"",
            "\"Put it into the earth and wait,\" said {his} {elder}. So {he} did.",
        ],
        &[
            "The next day {he} looked, but there was nothing to see.",
            "{He} waited one day, two days, three days. Nothing came.",
            "Every morning {he} ran out to look, and every morning there was only brown earth.",
        ],
        &[
            "\"Maybe it is asleep,\" said {hero}, and {he} sang it a song.",
            "\"It will never grow,\" said {hero} sadly. \"Wait a little,\" said {his} {elder}.",
            "{hero} was sad. But {he} did not forget to water it.",
            "\"Good things need time,\" said {his} {elder}.",
        ],
        &[
            "Then it rained all night.",
            "Then the sun came out and it grew warm.",
            "",
            "A week went by, and then another week.",
        ],
        &[
            "One morning there was a green leaf, as small as the ear of a mouse!",
            "And one day something green looked out of the ground. \"Hello!\" said {hero}.",
            "At last a little green tip came out of the earth.",
        ],
        &[
            "It grew and grew, and in summer it was {grows}.",
            "It grew day and night. In the end it was {grows}.",
            "{hero} gave it water every day, and it became {grows}.",
        ],
        &["{end}.", "{end}, and {hero} was happy.", "{end}. \"It was worth the wait,\" said {hero}."],
    ],
};

struct Plan {
    plan: &'static str,
    instead: &'static str,
}

const PLANS: &[Plan] = &[
    Plan { plan: "have a picnic", instead: "put a blanket on the floor and had a picnic under the table" },
    Plan { plan: "swim in the lake", instead: "filled the big tub and swam with the wooden ducks" },
    Plan { plan: "build a castle of sand", instead: "built a castle of pillows with a flag on top" },
    Plan { plan: "sail on the river", instead: "made a ship of chairs and sailed around the kitchen" },
    Plan { plan: "look for mushrooms", instead: "hid buttons in the whole house and looked for them" },
    Plan { plan: "see the bears", instead: "put on brown coats and were bears all day" },
    Plan { plan: "pick flowers", instead: "cut flowers from paper and filled every cup with them" },
    Plan { plan: "camp under the stars", instead: "made a tent in the living room and lit a little lamp" },
];

/// Rain spoils the plan, and the day is good all the same.
pub const RAIN: Plot = Plot {
    name: "rain",
    cast: |cast| {
        cast.hero();
        cast.friend();
        let row = cast.row(PLANS);
        cast.bind("plan", row.plan);
        cast.bind("instead", row.instead);
        cast.any("bad", &["rain", "snow", "storm"]);
        let bad = match cast.bindings["bad"].as_str() {
            "rain" => "it rained and rained",
            "snow" => "it began to snow",
            _ => "a storm came up",
        };
        cast.bind("came", bad);
    },
    beats: &[
        &[
            "{hero} and {friend} wanted to {plan}.",
            "{opening} One day {he} wanted to {plan} with {his} friend {friend}.",
            "\"Tomorrow we will {plan}!\" said {hero} to {friend}.",
            "{opening} {He} and {his} friend {friend} wanted to {plan}.",
        ],
        &[
            "They had packed everything into a basket.",
            "They could hardly wait.",
            "They had talked about it all week.",
            "",
        ],
        &[
            "But when they opened the door, {came}.",
            "But in the morning {came}.",
            "But then the sky grew dark, and {came}.",
        ],
        &[
            "\"Now we cannot {plan},\" said {friend}, and {friend.he} was sad.",
            "\"Bad, bad {bad}!\" cried {hero} and looked out of the window.",
            "They sat at the window with long faces and looked at the {bad}.",
        ],
        &[
            "Then {hero} had an idea. \"We can do it here!\" {he} said.",
            "\"Wait!\" said {friend}. \"Who says that we need the sun?\"",
            "Then {friend} jumped up. \"I know a game!\" {friend.he} cried.",
        ],
        &["So they {instead}.", "They {instead}, and they laughed a lot.", "And then they {instead}."],
        &[
            "Outside the {bad} went on, but nobody looked at it any more.",
            "\"This is the best day of all,\" said {friend}.",
            "They did not even see when the {bad} was over.",
        ],
        &[
            "\"I hope that tomorrow it is like this again,\" said {friend}.",
            "When the sun came out, {hero} and {friend} did not want to go out at all.",
            "In the evening {hero} and {friend} were tired and happy.",
        ],
    ],
};
