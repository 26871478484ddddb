/** Escapes text that may quote a hostile document, for plain text and for Markdown. */

const UNSAFE = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu

/** Replaces control characters, which could move the cursor or start a new line, and marks that reverse the direction of text. */
export function toPlain(text: string): string {
  return text.replace(UNSAFE, '?')
}

/**
 * Escapes a text for one line or table cell of Markdown. Uses entities, which no renderer reads as structure. A zero-width space
 * after `@` prevents mentions.
 */
export function escapeMarkdown(text: string): string {
  return toPlain(text)
    .replace(/[&<>|`*_[\]\\#~!$]/g, (character) => `&#${character.charCodeAt(0)};`)
    .replaceAll('@', '@\u200b')
}
