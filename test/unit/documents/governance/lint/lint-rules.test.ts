import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { OWN_RULES } from '../../../../../src/documents/governance/lint/lint.ts'
import { RULES_FILE, rulesTable } from './rules-table.ts'

it('every rule has a unique name, a message and advice', () => {
  expect(new Set(OWN_RULES.map(({ id }) => id)).size).toBe(OWN_RULES.length)
  for (const { advice, message } of OWN_RULES)
    expect([advice.endsWith('.'), message.endsWith('.') || message.endsWith(').')]).toEqual([true, true])
})

it('the documented rules are those of the code', () => {
  const words = (text: string) => text.replaceAll(/[\s|:-]+/g, ' ')
  expect(words(readFileSync(RULES_FILE, 'utf8'))).toBe(words(rulesTable()))
})
