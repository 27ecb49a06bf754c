/**
 * Text that the user has written and not sent. The draft outlives the message field, which is
 * created anew for each connection.
 */
export interface Draft {
  read(): string;
  write(text: string): void;
}

/**
 * Creates a draft. A draft is not React state, because then each key press would render the whole
 * conversation again.
 */
export function createDraft(): Draft {
  let text = '';
  return {
    read: () => text,
    write: (written) => void (text = written),
  };
}
