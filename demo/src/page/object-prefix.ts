/** An object has a conversation of its own, which the list of conversations leaves out. */
export const objectPrefix = 'object-';
