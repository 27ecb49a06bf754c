import { expect, test } from 'vitest';
import { storeSessions } from './index.ts';

test.each([{ getItem: () => null }, null, './chats'])('storeSessions(%j) is refused', (store) => {
  expect(() => storeSessions(store as never)).toThrow(
    expect.objectContaining({
      code: 'CONFIGURATION',
      message: expect.stringContaining('storeSessions(): the store'),
    }),
  );
});
