/** Names that other libraries use for the id of a conversation, for the advice of an error. */
export const sessionIdNames: readonly string[] = [
  'id',
  'chatId',
  'conversationId',
  'session',
  'threadId',
];
