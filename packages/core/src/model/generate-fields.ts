/** Fields of `GenerateOptions`, for `checkOptions`. */
export const generateFields: string =
  'toolChoice:auto|none|required|object|? maxTokens,temperature:count|? topP:share|? ' +
  'seed:number|? stop:array|? responseSchema,providerOptions:object|?';
