/**
 * A picture that moves, with a button that stops it: `<moving-picture>` around an image that stands
 * still, whose `data-moving` is the address of the moving one. This one is large, so it is loaded
 * after the page, and not for people who want less motion.
 */
class MovingPicture extends HTMLElement {
  connectedCallback(): void {
    const image = this.querySelector('img');
    const moving = image?.dataset['moving'];
    if (!image || !moving || this.querySelector('button')) return;
    const inChinese = document.documentElement.lang.startsWith('zh');
    const [play, pause] = inChinese ? ['播放', '暂停'] : ['Play', 'Pause'];
    const still = image.src;
    const button = document.createElement('button');
    button.type = 'button';
    const show = (isMoving: boolean): void => {
      image.src = isMoving ? moving : still;
      button.textContent = isMoving ? pause : play;
    };
    button.addEventListener('click', () => show(button.textContent === play));
    show(false);
    this.append(button);
    if (matchMedia('(prefers-reduced-motion: reduce)').matches) return;
    if (document.readyState === 'complete') show(true);
    else addEventListener('load', () => show(true), { once: true });
  }
}

customElements.define('moving-picture', MovingPicture);
