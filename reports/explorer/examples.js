// Texts to begin with: proverbs and sentences written for this page. Each has a key of its own, drawn from its number.
"use strict";

var ExplorerExamples = (() => {
  const TEXTS = [
    ["A proverb of good length", "A stitch in time saves nine, they say; but the one who waits until the whole seam is open will need a longer thread, a better lamp and most of the evening."],
    ["Two proverbs", "All that glitters is not gold; still waters run deep, and those who look only at the surface learn nothing of either."],
    ["How it works", "The network counts letters first, then it notices the short words, and in the end it reads whole sentences."],
    ["A weather report", "Tomorrow there will be light rain in the north, some sun in the south, and a strong wind along the whole coast."],
    ["Short", "Every cloud has a silver lining."],
    ["Too short to be sure", "Practice makes perfect."],
    ["Letters in strange numbers", "Zigzag quizzes puzzle lazy foxes; jumpy quokkas vex a wizard, who buzzes by and waxes his jazzy kazoo."],
    ["A few sentences", "She opened the letter at once, read it twice and put it on the table. It said that her brother was well, that the harvest had been good, and that he would come home before the first snow. Then she made some tea and waited."],
    ["Long", "When the old clock in the tower stopped, nobody in the town knew what to do with the afternoon. The baker left his bread in the oven, the teacher let the children sing, and the mayor walked up the stairs to look for himself. He found a bird that had built its nest between the wheels, and he decided that the time could wait until the young ones had learned to fly."],
  ];
  return TEXTS.map(([name, plain], number) => ({ name, plain, key: ExplorerText.randomKey(ExplorerText.seeded(number + 1)) }));
})();
