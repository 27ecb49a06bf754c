/** A text without disguised characters, in three forms. Each form is computed on first use. */
export interface PlainText {
  /**
   * The text in lower case with single blanks. Compatibility forms such as fullwidth letters and
   * look-alike letters are replaced with plain letters. Invisible characters are removed.
   */
  readonly text: string;
  /** Words only, with single blanks between them and at both ends. */
  readonly words: string;
  /**
   * Letters and digits only. Patterns use this form for scripts without blanks and for words that
   * are spelled letter by letter.
   */
  readonly letters: string;
}

/** Replaces the disguised characters of a text. Takes time linear in the length of the text. */
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
 * control characters. White space stays.
 */
export function withoutInvisible(text: string): string {
  return text.replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}]|[^\P{Cc}\s]/gu, '');
}

function fold(raw: string): string {
  const latin = new Map<string, string>();
  return singleBlanks(
    withoutInvisible(raw)
      // `normalize` sorts consecutive combining marks, which takes quadratic time. So at most four
      // marks in a row stay.
      .replace(/\p{M}(?<=\p{M}{5})/gu, '')
      // Arabic ligatures expand to up to 18 letters each, so a blank replaces each of them.
      .replace(/[\ufdf0-\ufdff]/g, ' ')
      .normalize('NFKC')
      .toLowerCase()
      .replace(/[\p{Script=Inherited}\p{Me}]/gu, '')
      .replace(withLatinForm, (letter) => {
        const plain = latin.get(letter) ?? toLatin(letter);
        latin.set(letter, plain);
        return plain;
      })
      // Plain blanks stay out of this pattern: replacing them takes longer than all other steps
      // together.
      .replace(/[^\S ]|\u2800/g, ' '),
  );
}

/**
 * Collapses consecutive blanks. The patterns in this file use no `+`. V8 stores a backtracking
 * point for each repetition, and runs out of space after some millions.
 */
function singleBlanks(text: string): string {
  return text.replace(/(?<= ) /g, '');
}

/** Small letters of Latin, Greek and Cyrillic scripts that `toLatin` may change. */
const withLatinForm = /[\u00e0-\u024f\u0370-\u04ff\u1e00-\u1eff]/g;

/** Cyrillic and Greek letters, each followed by the Latin letter that looks like it. */
const lookAlikes = 'аaеeоoрpсcуyхxіiјjѕsԁdһhкkмmтtвbнhαaοoεeιiκkνvρpτtυuχx';

/** Returns the Latin letter that a letter looks like, or the letter without its marks. */
export function toLatin(letter: string): string {
  const at = lookAlikes.indexOf(letter);
  return at >= 0 && at % 2 === 0 ? lookAlikes[at + 1]! : letter.normalize('NFD')[0]!;
}
