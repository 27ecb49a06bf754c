/** A text without its disguises, in three forms. Each form is computed on first use. */
export interface PlainText {
  /**
   * The text in lower case with single blanks. Compatibility forms such as fullwidth letters are
   * folded, look-alike letters are Latin, and invisible characters are removed.
   */
  readonly text: string;
  /** Only the words, with single blanks between them and at both ends. */
  readonly words: string;
  /**
   * Only the letters and digits: for scripts without blanks, and for words spelled letter by
   * letter.
   */
  readonly letters: string;
}

/** Removes the disguises of a text. Takes time linear in its length. */
export function plainText(raw: string): PlainText {
  let text: string | undefined;
  let words: string | undefined;
  let letters: string | undefined;
  return {
    get text() {
      return (text ??= fold(raw));
    },
    get words() {
      return (words ??= singleBlanks(` ${this.text.replace(/[^\p{L}\p{N}]{1,1000}/gu, ' ')} `));
    },
    get letters() {
      return (letters ??= this.words.replaceAll(' ', ''));
    },
  };
}

/**
 * Removes invisible characters: zero-width and format characters, fillers, variation selectors and
 * controls. White space stays.
 */
export function withoutInvisible(text: string): string {
  return text.replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}]|[^\P{Cc}\s]/gu, '');
}

function fold(raw: string): string {
  const latin = new Map<string, string>();
  return singleBlanks(
    withoutInvisible(raw)
      // Normalizing sorts each run of marks, which is quadratic in its length.
      .replace(/\p{M}(?<=\p{M}{5})/gu, '')
      // Arabic ligatures expand to up to 18 letters.
      .replace(/[\ufdf0-\ufdff]/g, ' ')
      .normalize('NFKC')
      .toLowerCase()
      .replace(/[\p{Script=Inherited}\p{Me}]/gu, '')
      .replace(/[\u00e0-\u024f\u0370-\u04ff\u1e00-\u1eff]/g, (letter) => {
        const plain = latin.get(letter) ?? toLatin(letter);
        latin.set(letter, plain);
        return plain;
      })
      // Skips plain blanks: replacing them would take longer than all other steps.
      .replace(/[^\S ]|\u2800/g, ' '),
  );
}

/**
 * Collapses runs of blanks. There is no `+` here or above: V8 stores a backtracking point for each
 * iteration, and runs out of space after some millions.
 */
function singleBlanks(text: string): string {
  return text.replace(/(?<= ) /g, '');
}

/** Cyrillic and Greek letters, each followed by the Latin letter it looks like. */
const lookAlikes = 'аaеeоoрpсcуyхxіiјjѕsԁdһhкkмmтtвbнhαaοoεeιiκkνvρpτtυuχx';

function toLatin(letter: string): string {
  const at = lookAlikes.indexOf(letter);
  return at >= 0 && at % 2 === 0 ? lookAlikes[at + 1]! : letter.normalize('NFD')[0]!;
}
