import { tryStorage } from '../queue/tab-storage.ts';

/**
 * Notes in this browser tab who uses a conversation, for the pages that the tab opens later.
 * Returns the note of an earlier page. `key`: name of the conversation. `user`: digest of the
 * person's id.
 */
export function noteUser(key: string, user: string): string | undefined {
  const name = `isoloop:user:${key}`;
  return tryStorage(() => {
    const earlierUser = sessionStorage[name] as string | undefined;
    if (earlierUser !== user) sessionStorage[name] = user;
    return earlierUser;
  });
}
