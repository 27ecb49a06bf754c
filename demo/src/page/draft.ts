/** What is written and not sent. It outlives the composer, which goes with its connection. */
export interface Draft {
  read(): string;
  write(text: string): void;
}

/** Not a state of the page's: that would draw the whole conversation anew at every key. */
export function createDraft(): Draft {
  let text = '';
  return {
    read: () => text,
    write: (written) => void (text = written),
  };
}
