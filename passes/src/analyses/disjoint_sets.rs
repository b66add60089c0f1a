//! Sets that are joined: union-find with path halving (Tarjan and van Leeuwen, *Worst-Case Analysis of Set Union
//! Algorithms*, 1984).

/// Disjoint sets of numbered elements. Each set is named by the smallest element that is in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct DisjointSets {
    parents: Vec<usize>,
}

impl DisjointSets {
    /// So many sets of one element each.
    pub(crate) fn new(count: usize) -> Self {
        DisjointSets { parents: (0..count).collect() }
    }

    /// How many elements there are.
    pub(crate) fn len(&self) -> usize {
        self.parents.len()
    }

    /// Adds an element in a set of its own.
    pub(crate) fn add(&mut self) -> usize {
        self.parents.push(self.parents.len());
        self.parents.len() - 1
    }

    /// The name of the set in which an element is; itself, if there is no such element. Shortens the way for those that
    /// ask later.
    pub(crate) fn find(&mut self, mut element: usize) -> usize {
        while let Some(&parent) = self.parents.get(element)
            && parent != element
        {
            let above = self.parents.get(parent).copied().unwrap_or(parent);
            if let Some(way) = self.parents.get_mut(element) {
                *way = above;
            }
            element = above;
        }
        element
    }

    /// As [`Self::find`], without shortening the way.
    pub(crate) fn root(&self, mut element: usize) -> usize {
        while let Some(&parent) = self.parents.get(element).filter(|&&parent| parent != element) {
            element = parent;
        }
        element
    }

    /// Joins the sets of two elements.
    pub(crate) fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        if let Some(parent) = self.parents.get_mut(a.max(b)) {
            *parent = a.min(b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::DisjointSets;

    #[test]
    fn joined_elements_have_the_name_of_the_smallest() {
        let mut sets = DisjointSets::new(5);
        let added = sets.add();
        for (a, b) in [(4, 3), (added, 4), (1, 0)] {
            sets.join(a, b);
        }
        let names: Vec<usize> = (0..sets.len()).map(|element| sets.root(element)).collect();
        assert_eq!(names, [0, 0, 2, 3, 3, 3]);
        assert!((0..sets.len()).all(|element| sets.find(element) == names[element]));
    }
}
