/**
 * Name of the tool that takes the structured value of an agent call. The tool's arguments are the
 * answer.
 */
export const outputToolName = 'generate_response';
