//! Two children, and what is between them; a child, and what it is afraid of.

use super::Plot;

/// Two want the same thing.
pub const QUARREL: Plot = Plot {
    name: "quarrel",
    cast: |cast| {
        cast.hero();
        cast.friend();
        cast.thing();
        cast.place();
    },
    beats: &[
        &[
            "{hero} and {friend} were [good|best] friends.",
            "Once upon a time there were two friends, {hero} and {friend}.",
            "{opening} {His} best friend was {friend}.",
            "Every day {hero} played with {his} friend {friend}.",
        ],
        &[
            "One {weather} [morning|day|afternoon] they found a {fine} {thing} {at}.",
            "One day they saw a {fine} {thing} {hide}.",
            "One {weather} [morning|day|afternoon] they were {at} and found a {fine} {thing}.",
        ],
        &[
            "\"I saw it first!\" said {hero}. \"No, it is mine!\" said {friend}.",
            "\"The {thing} is mine!\" cried {hero}. \"No, mine!\" cried {friend}.",
            "Both wanted to have it. \"Give it to me!\" said {friend}. \"Never!\" said {hero}.",
        ],
        &[
            "They pulled and they pulled, and then they both fell into the mud.",
            "{hero} was angry, and {friend} was angry too. They did not speak to each other all day.",
            "{friend} ran away with the {thing}. {hero} sat down and cried.",
            "They shouted so loudly that all the birds flew away.",
        ],
        &[
            "But it was no fun to be alone.",
            "Then {hero} looked at {friend}, and {friend} looked at {hero}, and they had to laugh.",
            "That night {hero} could not sleep, for {he} was sorry.",
            "After a while {friend} came back and looked very sad.",
        ],
        &[
            "\"I am sorry,\" said {friend}. \"I am sorry too,\" said {hero}.",
            "\"You are my friend, and a {thing} is only a {thing},\" said {hero}.",
            "\"You may have it,\" said {hero}. \"No, you may have it,\" said {friend}.",
        ],
        &[
            "So they shared the {thing}. One day it was with {hero}, and the next day it was with {friend}.",
            "\"We can take turns,\" said {friend}. First {hero} had the {thing}, and then {friend} had it.",
            "From then on the {fine} {thing} belonged to both {hero} and {friend}.",
            "{hero} and {friend} gave the {thing} to a little child who had none, and all three played together.",
        ],
        &["", "And they were friends again.", "They never fought about it any more.", "That was much more fun."],
    ],
};

/// Who was alone is not any more.
pub const NEW_FRIEND: Plot = Plot {
    name: "new friend",
    cast: |cast| {
        cast.hero();
        cast.friend();
        cast.thing();
        cast.place();
        cast.elder();
    },
    beats: &[
        &[
            "{opening} {He} was new there and did not know anybody.",
            "{hero} had just come to a new town. {He} had no friends there.",
            "{hero} was a shy {girl}. In the new school {he} did not speak to anybody.",
            "{opening} But {he} was lonely, for there was nobody to play with.",
        ],
        &[
            "One {weather} day {he} sat {at} all alone with {his} {fine} {thing}.",
            "Every day {he} went {to} and played alone with {his} {fine} {thing}.",
            "\"Go out and play,\" said {his} {elder}. So {he} took {his} {fine} {thing} and went {to}.",
        ],
        &[
            "There {he} saw a {friend.girl} who was alone too. {friend.He} was called {friend}.",
            "A {friend.girl} called {friend} looked at {him} from far away.",
            "Not far away stood a {friend.girl}. That was {friend}.",
        ],
        &[
            "{hero} wanted to say hello, but no word came out.",
            "{hero} looked at {his} feet, and {friend} looked at the sky.",
            "{hero} was too shy to speak. {His} heart beat fast.",
        ],
        &[
            "Then {friend} said, \"What a {fine} {thing} you have! May I see it?\"",
            "Then a wind came and carried the {thing} away. {friend} ran after it and brought it back.",
            "At last {hero} held out the {thing} to {friend} and asked, \"Do you want to play with me?\"",
            "\"Is that your {thing}?\" asked {friend}. \"I like to {joy},\" said {hero}.",
        ],
        &[
            "{hero} and {friend} played until it was dark.",
            "Soon they laughed and ran about together.",
            "They shared the {thing}, and they shared an apple too.",
        ],
        &[
            "\"Will you come again tomorrow?\" asked {friend}. \"Yes!\" said {hero}.",
            "\"I have a friend now,\" said {hero} that evening, and {his} {elder} smiled.",
            "When {he} came home, {hero} sang. \"{friend} is my friend,\" {he} said.",
        ],
        &[
            "",
            "Now {he} was not lonely any more.",
            "After that nobody ever saw one without the other.",
            "And {he} was glad to live there.",
        ],
    ],
};

struct Fear {
    fear: &'static str,
    when: &'static str,
    sign: &'static str,
    words: &'static str,
    deed: &'static str,
}

const FEARS: &[Fear] = &[
    Fear {
        fear: "the dark",
        when: "When the lamp went out at night",
        sign: "pulled the blanket over {his} head",
        words: "The dark is only the day with its eyes closed",
        deed: "looked out of the window and counted the stars",
    },
    Fear {
        fear: "thunder",
        when: "When a storm came in the evening",
        sign: "crept under the bed",
        words: "Thunder is only two clouds that bump their heads",
        deed: "sang a song that was louder than the thunder",
    },
    Fear {
        fear: "deep water",
        when: "When the other children swam in the lake",
        sign: "stayed on the grass and looked away",
        words: "The water will carry you if you let it",
        deed: "went in step by step, first the toes, then the knees",
    },
    Fear {
        fear: "the big dog",
        when: "When the big dog stood at the gate",
        sign: "hid behind a tree",
        words: "He is big, but his heart is soft",
        deed: "held out a hand, and the big dog licked it",
    },
    Fear {
        fear: "the high bridge",
        when: "When the path came to the high bridge",
        sign: "stood still and could not move",
        words: "Do not look down, look at the flowers on the other side",
        deed: "held on to the rope and walked over, step by step",
    },
    Fear {
        fear: "the first day of school",
        when: "When the morning came",
        sign: "hid in the wardrobe",
        words: "All the others are a little afraid too",
        deed: "went in and sat down next to a girl who smiled",
    },
];

/// Somebody is afraid, and then brave.
pub const AFRAID: Plot = Plot {
    name: "afraid",
    cast: |cast| {
        cast.hero();
        cast.elder();
        let row = cast.row(FEARS);
        cast.bind("fear", row.fear);
        cast.bind("when", row.when);
        cast.bind("sign", row.sign);
        cast.bind("words", row.words);
        cast.bind("deed", row.deed);
    },
    beats: &[
        &[
            "{opening} {He} was afraid of only one thing, and that was {fear}.",
            "{hero} was not afraid of spiders or mice. But {he} was afraid of {fear}.",
            "{opening} {He} was afraid of {fear}.",
            "There once was a {girl} called {hero}, who was afraid of {fear}.",
        ],
        &["{when}, {hero} {sign}.", "{when}, {hero} was afraid and {sign}."],
        &[
            "\"I am not brave,\" {he} said [sadly|in a small voice].",
            "\"I am afraid,\" {he} said, and {he} began to cry.",
            "\"I wish I were brave,\" thought {hero}.",
        ],
        &[
            "{His} {elder} came and took {his} hand. \"{words},\" said {his} {elder}.",
            "\"When I was small, I was afraid too,\" said {his} {elder}. \"{words}.\"",
            "\"Listen,\" said {his} {elder}. \"{words}.\"",
        ],
        &[
            "{hero} thought about it for a long time.",
            "",
            "\"Is that true?\" asked {hero}. \"Yes,\" said {his} {elder}. \"Try it.\"",
            "\"Will you stay with me?\" asked {hero}. \"I will stay,\" said {his} {elder}.",
        ],
        &["Then {hero} {deed}.", "So {hero} took a deep breath. {He} {deed}.", "And then, slowly, {hero} {deed}."],
        &[
            "It was not so bad after all!",
            "Nothing bad happened. It was even beautiful.",
            "\"Look, I am doing it!\" cried {hero}.",
        ],
        &[
            "Now {he} was not afraid of {fear} any more.",
            "\"You are the bravest {girl} I know,\" said {his} {elder}.",
            "{hero} was proud, and {he} slept very well that night.",
            "Since that day {hero} tells all the small children about it.",
        ],
    ],
};
