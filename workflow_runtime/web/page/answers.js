// Which answers a conversation has: each run that ended gets one without a question, and each question
// gets one. Times are the server's.

// How many of the runs that ended at these times have no answer yet; each has one of its own.
export function unanswered(messages, ends) {
  const answers = messages
    .filter((message, index) => message.role === "assistant" && messages[index - 1]?.role !== "user")
    .map((message) => Date.parse(message.at));
  let missing = 0;
  for (const end of [...ends].sort((one, other) => one - other)) {
    const found = answers.findIndex((at) => at >= end);
    if (found < 0) missing += 1;
    else answers.splice(found, 1);
  }
  return missing;
}

// When the newest question was stored; minus infinity before the first.
export function lastQuestionAt(messages) {
  const question = messages.findLast((message) => message.role === "user");
  return question ? Date.parse(question.at) : Number.NEGATIVE_INFINITY;
}

// Whether a question that was stored later than `after` has been answered.
export function isReplied(messages, after) {
  return messages.some((message, index) => message.role === "assistant" &&
    messages[index - 1]?.role === "user" && Date.parse(messages[index - 1].at) > after);
}
