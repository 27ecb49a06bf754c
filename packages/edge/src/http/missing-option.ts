/**
 * Returns the message about an option that an endpoint does not have, with the lines that add it.
 * `need`: what needs the option, as the start of a sentence. `option`: its name, which is also the
 * subpath of the import. `call`: the call that makes its value.
 */
export function missingOption(need: string, option: string, call: string): string {
  const [maker] = call.split('(');
  return (
    `${need} \`${option}: ${call}\` in createAgentHandler(). ` +
    `Import it: import { ${maker} } from '@isoloop/edge/${option}';`
  );
}
