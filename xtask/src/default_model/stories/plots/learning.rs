//! Somebody cannot do what all others can, yet.

use super::Plot;

struct Skill {
    animal: &'static str,
    skill: &'static str,
    fails: &'static str,
    does: &'static str,
    others: &'static str,
}

const SKILLS: &[Skill] = &[
    Skill {
        animal: "duck",
        skill: "swim",
        fails: "jumped into the pond and went down like a stone",
        does: "swam across the pond and back again",
        others: "the other ducks",
    },
    Skill {
        animal: "bird",
        skill: "fly",
        fails: "flapped its wings and fell into the soft grass",
        does: "flew up over the roof and into the blue sky",
        others: "the other birds",
    },
    Skill {
        animal: "frog",
        skill: "jump",
        fails: "took a big jump and landed on its nose",
        does: "jumped from one side of the brook to the other",
        others: "the other frogs",
    },
    Skill {
        animal: "spider",
        skill: "spin",
        fails: "made a web, and the web looked like an old sock",
        does: "made a web as round as the moon",
        others: "the other spiders",
    },
    Skill {
        animal: "squirrel",
        skill: "climb",
        fails: "climbed up to the first branch and slid down again",
        does: "climbed to the top of the tallest tree",
        others: "the other squirrels",
    },
    Skill {
        animal: "rooster",
        skill: "crow",
        fails: "opened its beak, and only a squeak came out",
        does: "crowed so loudly that the sun got up",
        others: "all the hens",
    },
    Skill {
        animal: "owl",
        skill: "hoot",
        fails: "took a deep breath and sneezed",
        does: "hooted, and the whole forest listened",
        others: "the other owls",
    },
    Skill {
        animal: "pony",
        skill: "gallop",
        fails: "ran three steps and fell over its own feet",
        does: "galloped around the meadow like the wind",
        others: "the other ponies",
    },
    Skill {
        animal: "lamb",
        skill: "count",
        fails: "counted one, two, seven and fell asleep",
        does: "counted all the sheep on the hill",
        others: "the other lambs",
    },
];

/// A small animal learns what it could not do.
pub const LEARNER: Plot = Plot {
    name: "learner",
    cast: |cast| {
        cast.pet();
        let row = cast.row(SKILLS);
        cast.bind("animal", row.animal);
        cast.bind("skill", row.skill);
        cast.bind("fails", row.fails);
        cast.bind("does", row.does);
        cast.bind("others", row.others);
        cast.any("wise", &["turtle", "toad", "hare", "donkey", "beaver", "swan"]);
        cast.any("age", &["old", "kind", "wise"]);
    },
    beats: &[
        &[
            "Once upon a time there was a little {animal} called {pet}, who could not {skill}.",
            "There once was a little {animal} named {pet}. {pet} could not {skill}.",
            "{pet} was a little {animal}. {pet} wanted to {skill} more than anything.",
        ],
        &[
            "Every day {pet} tried. But {pet} {fails}.",
            "One morning {pet} tried it again. The little {animal} {fails}.",
            "\"Today I will {skill}!\" said {pet}. The little {animal} {fails}.",
        ],
        &[
            "\"Ha, ha!\" laughed {others}. \"A {animal} that cannot {skill}!\"",
            "\"You will never learn it,\" said {others}.",
            "All could do it, and {others} laughed.",
            "",
        ],
        &[
            "{pet} was sad and wanted to give up.",
            "{pet} hid behind a bush and cried.",
            "\"I will never {skill},\" thought {pet}.",
        ],
        &[
            "Then a {age} {wise} came by and said, \"Nobody can do it the first time. Try again.\"",
            "\"Why are you sad?\" asked a {age} {wise}. \"I cannot {skill},\" said {pet}. \"Not yet,\" said the {wise}.",
            "A {age} {wise} sat down beside {pet}. \"Go slowly,\" said the {wise}. \"A little more every day.\"",
        ],
        &[
            "So {pet} tried again the next day, and the day after that.",
            "{pet} tried it once, twice, ten times.",
            "{pet} tried it in the sun, and {pet} tried it in the rain.",
        ],
        &[
            "And one [bright|sunny|fine] morning {pet} {does}!",
            "Then, all at once, the little {animal} {does}.",
            "On the seventh day {pet} {does}.",
        ],
        &[
            "\"I can {skill}!\" cried {pet} and was happy.",
            "\"Well done, {pet}!\" said the {wise}.",
            "Now nobody laughed any more, and {pet} was proud.",
            "\"I can {skill}!\" cried {pet}, and even {others} cheered.",
        ],
    ],
};
