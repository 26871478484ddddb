/** Escapes text that may quote a hostile document, for XML and GitHub Actions. */

import { toPlain } from '../../../foundation/domain/plain-text.ts'

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&apos;',
}

/** Escapes one line. XML 1.0 allows neither most control characters nor lone surrogates, not even escaped. */
export function escapeXml(text: string): string {
  return toPlain(text)
    .replace(/[^\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '?')
    .replace(/[&<>"']/g, (character) => ENTITIES[character]!)
}

/** Escapes the message of a workflow command of GitHub Actions. */
export function escapeCommandMessage(text: string): string {
  const encoded = text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
  return toPlain(encoded)
}

/** Escapes a property of a workflow command. */
export function escapeCommandProperty(text: string): string {
  return escapeCommandMessage(text).replaceAll(':', '%3A').replaceAll(',', '%2C')
}
