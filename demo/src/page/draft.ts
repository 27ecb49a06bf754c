/**
 * Text that the user has written and not sent. It outlives the composer, which is recreated for
 * each connection.
 */
export interface Draft {
  read(): string;
  write(text: string): void;
}

/**
 * Creates a draft. It is not React state, because each key would render the whole conversation
 * again.
 */
export function createDraft(): Draft {
  let text = '';
  return {
    read: () => text,
    write: (written) => void (text = written),
  };
}
