declare module 'nspell' {
  /** Makes a checker of spelling from a dictionary in Hunspell's format. */
  export default function nspell(dictionary: {
    readonly aff: Uint8Array;
    readonly dic: Uint8Array;
  }): { correct(word: string): boolean };
}
