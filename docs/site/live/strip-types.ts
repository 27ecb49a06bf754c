import { transform } from 'sucrase';

/** Turns TypeScript into JavaScript. Throws a `SyntaxError` with the line for invalid code. */
export function stripTypes(code: string): string {
  return transform(code, { transforms: ['typescript'], disableESTransforms: true }).code;
}
