import { checkFields } from '../error/check-fields.ts';

/** Throws `CONFIGURATION` for a value that is not a tool, such as the options of `tool()`. */
export function checkTool(tool: unknown): void {
  const fields = 'name:string schema:object input:validate()';
  checkFields('CONFIGURATION', 'A tool made without tool()', tool, fields);
}
