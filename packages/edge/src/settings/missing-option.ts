export interface MissingOption {
  /** Name of the option. */
  readonly option: string;
  /** Call that makes its value. */
  readonly call: string;
  /** Module that has the function. */
  readonly from: string;
}

/**
 * Returns the message about an option that an endpoint does not have, with the lines that add it.
 * `need`: what needs the option, as the start of a sentence.
 */
export function missingOption(need: string, { option, call, from }: MissingOption): string {
  const [maker] = call.split('(');
  return (
    `${need} \`${option}: ${call}\` in createAgentHandler(). ` +
    `Import it: import { ${maker} } from '${from}';`
  );
}
