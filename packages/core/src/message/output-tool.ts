/**
 * Name of the tool that takes the structured value of an agent call. The tool's arguments are the
 * answer.
 */
export const outputToolName = 'generate_response';

/**
 * Name of the only argument of that tool if the value is not an object, or an object with a field
 * of this name. So readers of the arguments know from the first name whether the value is wrapped.
 */
export const wrappedName = 'response';
