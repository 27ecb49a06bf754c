import type { KeyboardEvent } from 'react';

/** Whether a key press sends the text of a field: Enter without Shift. */
export function isSendKey({ key, shiftKey, keyCode, nativeEvent }: KeyboardEvent): boolean {
  // With an input method, Enter can end the composition of a character. Such an Enter must not
  // send the text. Safari reports it after the composition, with the key code 229.
  const isComposing = nativeEvent.isComposing || keyCode === 229;
  return key === 'Enter' && !shiftKey && !isComposing;
}
