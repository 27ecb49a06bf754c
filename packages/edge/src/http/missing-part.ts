/**
 * Returns the message about a part that an endpoint does not have, with the lines that add it. The
 * subpath of the import has the name of the option. `need`: what needs the part, as the start of a
 * sentence. `call`: the call that makes the part.
 */
export function missingPart(need: string, option: string, call: string): string {
  const [maker] = call.split('(');
  return (
    `${need} \`${option}: ${call}\` in createAgentHandler(). ` +
    `Import it: import { ${maker} } from '@isoloop/edge/${option}';`
  );
}
