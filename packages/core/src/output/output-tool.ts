/** Name of the tool that takes a call's structured value: its arguments are the answer. */
export const outputToolName = 'generate_response';
