/** Shows a moving picture only after the page has loaded: the element `moving-picture` plays it. */
export function withStillPicture(markdown: string): string {
  return markdown.replace(
    /<picture>\n<source media="[^"]*" srcset="([^"]+)">\n<img src="([^"]+)"(.*)>\n<\/picture>/,
    '<img src="$1" data-moving="$2"$3>',
  );
}
