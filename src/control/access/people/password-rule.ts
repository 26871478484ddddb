/** The rule for passwords, as a JSON Schema and as a test. */

export const PASSWORD = { minLength: 12, maxLength: 256, pattern: '^[^\\p{Cc}\\p{Cs}]+$' } as const

const PATTERN = new RegExp(PASSWORD.pattern, 'u')

export function isPassword(text: string): boolean {
  if (text.length > 2 * PASSWORD.maxLength) return false
  const { length } = [...text]
  return length >= PASSWORD.minLength && length <= PASSWORD.maxLength && PATTERN.test(text)
}
