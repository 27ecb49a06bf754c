/** A text without its disguises, in three forms; each is made when it is first asked for. */
export interface PlainText {
  /**
   * Lower case, compatibility forms (fullwidth letters) folded, look-alike letters as Latin ones,
   * no invisible characters, single blanks.
   */
  readonly text: string;
  /** Its words alone, with single blanks between and at both ends. */
  readonly words: string;
  /**
   * Its letters and digits alone: for scripts without blanks, and for words that are spelled out.
   */
  readonly letters: string;
}

/** Takes time linear in the text. */
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
 * Without characters that cannot be seen: zero-width and format characters, fillers, variation
 * selectors, controls; white space stays.
 */
export function withoutInvisible(text: string): string {
  return text.replace(/[\p{Default_Ignorable_Code_Point}\p{Cf}]|[^\P{Cc}\s]/gu, '');
}

function fold(raw: string): string {
  const latin = new Map<string, string>();
  return singleBlanks(
    withoutInvisible(raw)
      // Normalising sorts each run of marks, which takes the square of its length.
      .replace(/\p{M}(?<=\p{M}{5})/gu, '')
      // Arabic ligatures that are up to 18 letters long.
      .replace(/[\ufdf0-\ufdff]/g, ' ')
      .normalize('NFKC')
      .toLowerCase()
      .replace(/[\p{Script=Inherited}\p{Me}]/gu, '')
      .replace(/[\u00e0-\u024f\u0370-\u04ff\u1e00-\u1eff]/g, (letter) => {
        const plain = latin.get(letter) ?? toLatin(letter);
        latin.set(letter, plain);
        return plain;
      })
      // What is a blank already is left alone: putting in as many takes longer than all the rest.
      .replace(/[^\S ]|\u2800/g, ' '),
  );
}

/**
 * No `+` here or above: V8 keeps a way back for each turn of a loop, and runs out of room after
 * some millions.
 */
function singleBlanks(text: string): string {
  return text.replace(/(?<= ) /g, '');
}

/** Cyrillic and Greek letters that look like a Latin one, each before it. */
const lookAlikes = 'аaеeоoрpсcуyхxіiјjѕsԁdһhкkмmтtвbнhαaοoεeιiκkνvρpτtυuχx';

function toLatin(letter: string): string {
  const at = lookAlikes.indexOf(letter);
  return at >= 0 && at % 2 === 0 ? lookAlikes[at + 1]! : letter.normalize('NFD')[0]!;
}
