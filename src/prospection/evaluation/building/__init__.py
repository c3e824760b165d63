"""Building a benchmark: made-up people, or a person's own memories, to a folder of the quest layout."""
