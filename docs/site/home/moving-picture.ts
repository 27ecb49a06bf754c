/**
 * A picture that moves, with a button that stops it: `<moving-picture>` around a `<picture>`, whose
 * source for reduced motion is the picture that stands still.
 */
class MovingPicture extends HTMLElement {
  connectedCallback(): void {
    const image = this.querySelector('img');
    const source = this.querySelector('source');
    if (!image || !source || this.querySelector('button')) return;
    const inChinese = document.documentElement.lang.startsWith('zh');
    const [play, pause] = inChinese ? ['播放', '暂停'] : ['Play', 'Pause'];
    const moving = image.src;
    const still = source.srcset;
    const button = document.createElement('button');
    button.type = 'button';
    const show = (isMoving: boolean): void => {
      source.remove(); // it would override the image
      image.src = isMoving ? moving : still;
      button.textContent = isMoving ? pause : play;
    };
    button.addEventListener('click', () => show(button.textContent === play));
    show(!matchMedia(source.media).matches);
    this.append(button);
  }
}

customElements.define('moving-picture', MovingPicture);
