//! The world of the stories: who there is, what there is, and what belongs to what.

/// Girls.
pub const GIRLS: &[&str] =
    &["Mia", "Lily", "Anna", "Rosa", "Nora", "Ella", "Lucy", "Ida", "Ruby", "Clara", "Emma", "Zoe"];
/// Boys.
pub const BOYS: &[&str] = &["Tom", "Ben", "Max", "Leo", "Sam", "Tim", "Finn", "Jack", "Oscar", "Hugo", "Paul", "Noah"];
/// What small animals are called.
pub const PETS: &[&str] = &["Pip", "Dot", "Bim", "Tuck", "Nib", "Momo", "Fig", "Kiki", "Pom", "Zip"];
/// Grown-ups of a family, and whether they are women.
pub const ELDERS: &[(&str, bool)] =
    &[("mother", true), ("father", false), ("grandmother", true), ("grandfather", false)];
/// Days to go out.
pub const FAIR: &[&str] = &["sunny", "warm", "windy", "bright", "fine", "cool"];

/// Something that a child can have in a hand.
pub struct Thing {
    pub name: &'static str,
    /// What it may be like.
    pub like: &'static [&'static str],
    /// What one does with it: after "to".
    pub joy: &'static str,
}

const fn thing(name: &'static str, like: &'static [&'static str], joy: &'static str) -> Thing {
    Thing { name, like, joy }
}

/// Things that are loved, lost and wanted.
pub const THINGS: &[Thing] = &[
    thing("ball", &["red", "blue", "yellow", "big"], "throw it high into the air"),
    thing("kite", &["red", "green", "long", "new"], "see it dance in the wind"),
    thing("hat", &["warm", "green", "straw", "funny"], "wear it in the sun"),
    thing("doll", &["little", "old", "soft", "wooden"], "sing songs to it"),
    thing("book", &["old", "thick", "little", "blue"], "look at the pictures"),
    thing("key", &["golden", "old", "tiny", "shiny"], "open the secret box with it"),
    thing("button", &["shiny", "blue", "round", "golden"], "see it shine"),
    thing("bell", &["little", "silver", "golden", "old"], "hear it ring"),
    thing("drum", &["round", "loud", "red", "little"], "beat it all day long"),
    thing("boat", &["wooden", "white", "little", "paper"], "see it float"),
    thing("scarf", &["long", "orange", "woollen", "red"], "feel how soft it was"),
    thing("umbrella", &["yellow", "big", "old", "green"], "walk in the rain with it"),
    thing("lantern", &["little", "old", "paper", "yellow"], "carry it in the dark"),
    thing("whistle", &["tin", "loud", "silver", "wooden"], "blow it"),
    thing("basket", &["round", "brown", "little", "old"], "fill it with flowers"),
    thing("marble", &["green", "shiny", "round", "blue"], "roll it down the path"),
];

/// Where one goes.
pub struct Place {
    pub name: &'static str,
    /// `in`, `on`, `by` or `at`.
    pub at: &'static str,
    /// Where something may lie there.
    pub hides: &'static [&'static str],
}

const fn place(name: &'static str, at: &'static str, hides: &'static [&'static str]) -> Place {
    Place { name, at, hides }
}

/// Places of a day out.
pub const PLACES: &[Place] = &[
    place("garden", "in", &["under a rose bush", "in the tall grass", "next to the gate", "behind the apple tree"]),
    place("forest", "in", &["under the brown leaves", "beside an old oak", "between two roots", "in a hollow log"]),
    place("river", "by", &["between two stones", "under the little bridge", "behind a willow", "in the reeds"]),
    place("beach", "on", &["half under the sand", "behind a big rock", "inside an old boat", "next to a pink shell"]),
    place("hill", "on", &["behind a grey stone", "in the long grass", "under a thorn bush", "beside the path"]),
    place("park", "in", &["under a bench", "beside the fountain", "behind a tree", "in the sandpit"]),
    place("farm", "on", &["in the hay", "under a cart", "behind the barn", "beside the well"]),
    place("meadow", "in", &["among the daisies", "in the clover", "under a fern", "beside the fence"]),
    place("market", "at", &["under a table", "behind a barrel", "between two boxes", "among the apples"]),
];

/// An animal that can speak, as all do here.
pub struct Animal {
    pub name: &'static str,
    pub like: &'static [&'static str],
    /// How it looks for things: after "the animal".
    pub seeks: &'static str,
    /// What it likes best, with and without an article.
    pub food: (&'static str, &'static str),
}

const fn animal(
    name: &'static str,
    like: &'static [&'static str],
    seeks: &'static str,
    food: (&'static str, &'static str),
) -> Animal {
    Animal { name, like, seeks, food }
}

/// Animals that one meets.
pub const ANIMALS: &[Animal] = &[
    animal(
        "dog",
        &["brown", "friendly", "big", "old"],
        "put its nose to the ground and sniffed",
        ("a sausage", "sausage"),
    ),
    animal(
        "bird",
        &["blue", "small", "little", "merry"],
        "flew up and looked down from the sky",
        ("a piece of bread", "bread"),
    ),
    animal(
        "squirrel",
        &["red", "quick", "little", "young"],
        "ran up a tree and looked around",
        ("a nut cake", "nut cake"),
    ),
    animal(
        "mouse",
        &["tiny", "grey", "small", "brown"],
        "looked into every little hole",
        ("a piece of cheese", "cheese"),
    ),
    animal("owl", &["wise", "old", "white", "brown"], "looked around with its big round eyes", ("a warm pie", "pie")),
    animal("rabbit", &["white", "small", "shy", "quick"], "hopped this way and that way", ("a carrot", "carrot")),
    animal("cat", &["black", "grey", "soft", "clever"], "walked ahead on its soft paws", ("a little fish", "fish")),
    animal("hedgehog", &["small", "round", "kind", "old"], "pushed its nose under every leaf", ("a pear", "pear")),
    animal("goat", &["white", "old", "funny", "clever"], "climbed on a rock and looked about", ("a plum", "plum")),
    animal("duck", &["white", "friendly", "fat", "funny"], "walked up and down and looked", ("a bun", "bun")),
    animal("fox", &["red", "young", "clever", "quiet"], "lifted its head and smelled the wind", ("an egg", "egg")),
    animal("pony", &["brown", "gentle", "small", "old"], "looked over the tall grass", ("an apple", "apple")),
    animal("bear", &["big", "brown", "gentle", "kind"], "stood up tall and looked far", ("a honey cake", "honey cake")),
];

/// How a story may begin, before anything happens.
pub const OPENINGS: &[&str] = &[
    "Once upon a time there was a [little|small|kind|merry] {girl} called {hero}.",
    "Once there was a {girl} called {hero}, who lived [near|by] the {home}.",
    "There once was a [little|quiet|cheerful] {girl} named {hero}.",
    "{hero} was a [little|kind|merry|curious] {girl} who lived [near|by] the {home}.",
    "{hero} lived in a [small|white|yellow] house [near|by] the {home}.",
    "In a [small|white|yellow] house by the {home} lived a {girl} called {hero}.",
];
/// Where one lives.
pub const HOMES: &[&str] = &["sea", "forest", "river", "hill", "lake", "mill", "old bridge", "market"];
