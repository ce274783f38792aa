//! Who and what is in a story: chosen once, and the same until its end.

use super::chance::Chance;
use super::template::{Bindings, fill};
use super::words::{ANIMALS, Animal, BOYS, ELDERS, FAIR, GIRLS, HOMES, OPENINGS, PETS, PLACES, THINGS};

/// What chance has chosen for one story.
pub struct Cast {
    pub chance: Chance,
    pub bindings: Bindings,
}

impl Cast {
    /// Nobody and nothing, yet.
    pub fn new(seed: u64) -> Self {
        Self { chance: Chance::new(seed), bindings: Bindings::new() }
    }

    /// Gives a slot its text.
    pub fn bind(&mut self, slot: &str, text: &str) {
        self.bindings.insert(slot.to_owned(), text.to_owned());
    }

    /// Gives a slot one of these texts.
    pub fn any(&mut self, slot: &str, of: &[&str]) {
        let text = self.chance.pick(of);
        self.bind(slot, text);
    }

    /// One row of a table.
    pub fn row<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.chance.below(of.len())]
    }

    /// The child that it is about: `hero`, `he`, `him`, `his`, `He`, `girl`, and how the story begins: `opening`.
    pub fn hero(&mut self) {
        self.child("hero", "");
        self.any("home", HOMES);
        self.any("weather", FAIR);
        let opening = self.chance.pick(OPENINGS);
        let opening = fill(opening, &self.bindings, &mut self.chance);
        self.bind("opening", &opening);
    }

    /// Another child: `friend`, and `friend.he` and so on.
    pub fn friend(&mut self) {
        loop {
            self.child("friend", "friend.");
            if self.bindings["friend"] != self.bindings["hero"] {
                break;
            }
        }
    }

    fn child(&mut self, slot: &str, prefix: &str) {
        let girl = self.chance.below(2) == 0;
        self.any(slot, if girl { GIRLS } else { BOYS });
        self.bind(&format!("{prefix}girl"), if girl { "girl" } else { "boy" });
        self.pronouns(prefix, girl);
    }

    fn pronouns(&mut self, prefix: &str, woman: bool) {
        let forms = [("he", "she"), ("him", "her"), ("his", "her"), ("He", "She"), ("His", "Her")];
        for (his, hers) in forms {
            self.bind(&format!("{prefix}{his}"), if woman { hers } else { his });
        }
    }

    /// Somebody of the family: `elder`, `elder.he` and so on.
    pub fn elder(&mut self) {
        let (name, woman) = *self.row(ELDERS);
        self.bind("elder", name);
        self.pronouns("elder.", woman);
    }

    /// Something that is loved: `thing`, what it is like: `fine`, and what one does with it: `joy`.
    pub fn thing(&mut self) {
        let thing = self.row(THINGS);
        self.bind("thing", thing.name);
        self.any("fine", thing.like);
        self.bind("joy", thing.joy);
    }

    /// Where it happens: `place`, `at`, `to`, and where something lies there: `hide`.
    pub fn place(&mut self) {
        let place = self.row(PLACES);
        self.bind("place", place.name);
        self.bind("at", &format!("{} the {}", place.at, place.name));
        self.bind("to", &format!("to the {}", place.name));
        self.any("hide", place.hides);
    }

    /// Somebody with four legs, or two and wings: `animal`, what it is like: `wild`, and so on.
    pub fn animal(&mut self) -> &'static Animal {
        let animal = self.row(ANIMALS);
        self.bind("animal", animal.name);
        self.any("wild", animal.like);
        self.bind("seeks", animal.seeks);
        self.bind("a food", animal.food.0);
        self.bind("food", animal.food.1);
        animal
    }

    /// What a small animal is called: `pet`.
    pub fn pet(&mut self) {
        self.any("pet", PETS);
    }
}
