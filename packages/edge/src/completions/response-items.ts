import { fromResponsesInput } from '../wire/responses/responses-messages.ts';
import { invalidField } from '../http/request-body.ts';
import type { RequestBody } from '../http/request-body.ts';
import { isMediaAddress } from '../turn/user-message.ts';
import type { ParamOf } from './completion-messages.ts';

/**
 * Returns a function that returns the name of the first item of a message, such as `input[2]`. A
 * message of the assistant may consist of several items.
 */
export function itemNames(input: unknown): ParamOf {
  if (!Array.isArray(input)) return () => 'input';
  return (index) => {
    let [low, high] = [0, input.length - 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const before = fromResponsesInput(input.slice(0, middle + 1));
      if (before.length > index) high = middle;
      else low = middle + 1;
    }
    return `input[${low}]`;
  };
}

const mediaFields = ['image_url', 'file_url', 'file_data'] as const;

/** Throws `INVALID_INPUT` with the field's name for a media URL that is not http, https or data. */
export function checkMedia(input: unknown): void {
  if (!Array.isArray(input)) return;
  for (const [index, item] of input.entries()) {
    for (const list of ['content', 'output']) {
      const parts = (item as RequestBody)[list];
      if (!Array.isArray(parts)) continue;
      for (const [at, part] of parts.entries()) checkPart(part, `input[${index}].${list}[${at}]`);
    }
  }
}

function checkPart(part: unknown, param: string): void {
  for (const field of mediaFields) {
    const url = (Object(part) as RequestBody)[field];
    if (typeof url === 'string' && !isMediaAddress({ type: 'url', url }))
      throw invalidField(`${param}.${field}`, 'must be an http, https or data URL');
  }
}
