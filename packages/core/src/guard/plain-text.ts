/** A text without its disguises, in three forms; each is made when it is first asked for. */
export interface PlainText {
  /** Lower case, compatibility forms (fullwidth letters) folded, look-alike letters as Latin ones, no invisible characters, single blanks. */
  readonly text: string;
  /** Its words alone, with single blanks between and at both ends. */
  readonly words: string;
  /** Its letters and digits alone: for scripts without blanks, and for words that are spelled out. */
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
      return (words ??= singleBlanks(` ${this.text.replace(/[^\p{L}\p{N}]/gu, ' ')} `));
    },
    get letters() {
      return (letters ??= this.words.replaceAll(' ', ''));
    },
  };
}

/** Without characters that cannot be seen: zero-width and format characters, fillers, variation selectors, controls but white space. */
export function withoutInvisible(text: string): string {
  // eslint-disable-next-line no-control-regex -- controls are what it is about
  return text.replace(/[\p{Cf}\x00-\x08\x0e-\x1f\x7f-\x9f\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\ufe00-\ufe0f]/gu, '');
}

function fold(raw: string): string {
  const latin = new Map<string, string>();
  return singleBlanks(
    withoutInvisible(raw)
      // Normalising sorts each run of marks, which takes the square of its length.
      .replace(/(?<=\p{M}{4})\p{M}/gu, '')
      // Arabic ligatures that are up to 18 letters long.
      .replace(/[\ufdf0-\ufdff]/g, ' ')
      .normalize('NFKC')
      .toLowerCase()
      .replace(/[\u0300-\u036f\u0488\u0489\u20d0-\u20ff]/g, '')
      .replace(/[\u00e0-\u024f\u0370-\u04ff\u1e00-\u1eff]/g, (letter) => {
        let plain = latin.get(letter);
        if (plain === undefined) latin.set(letter, (plain = toLatin(letter)));
        return plain;
      })
      .replace(/[\s\u2800]/g, ' '),
  );
}

/** No `+` here or above: V8 keeps a way back for each turn of a loop, and runs out of room after some millions. */
function singleBlanks(text: string): string {
  return text.replace(/(?<= ) /g, '');
}

/** Cyrillic and Greek letters that look like a Latin one, each before it. */
const lookAlikes = 'аaеeоoрpсcуyхxіiјjѕsԁdһhкkмmтtвbнhαaοoεeιiκkνvρpτtυuχx';

function toLatin(letter: string): string {
  const at = lookAlikes.indexOf(letter);
  return at >= 0 && at % 2 === 0 ? lookAlikes[at + 1]! : letter.normalize('NFD')[0]!;
}
