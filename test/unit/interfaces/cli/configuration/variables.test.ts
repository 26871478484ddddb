import { describe, expect, it } from 'vitest'
import { describeChange } from '../../../../../src/interfaces/cli/configuration/differences.ts'
import { checkSecrets, createVariables } from '../../../../../src/interfaces/cli/configuration/variables.ts'

const FILE = 'a.yaml'

describe('the values of variables', () => {
  const TOKEN = 'tok"en\\with\u001bcontrol'

  it('are not printed as a name, a field or a part of a text, in any form that a message gives them', () => {
    const { replaceIn, hide } = createVariables({ TOKEN })
    const value = replaceIn({ url: 'https://hooks.example/${TOKEN}' }, FILE) as { readonly url: string }
    expect(value.url).toContain(TOKEN)
    for (const text of [value.url, JSON.stringify(value), `${JSON.stringify(value)} was refused`]) {
      expect(hide(text)).toContain('https://hooks.example/${TOKEN}')
      expect(hide(text)).not.toContain('tok')
    }
  })

  it('are not printed by a difference, even if its text is shortened within the value', () => {
    const { replaceIn, hide } = createVariables({ KEY: 'k'.repeat(500) })
    const after = replaceIn(`https://x/${'y'.repeat(90)}/\${KEY}`, FILE)
    const found = { kind: 'consumer', name: 'App', fields: {}, id: 'con_1', tags: [] }
    const differences = [{ field: 'contact', before: after, after }]
    const shown = describeChange({ action: 'change', found, wanted: found, differences }, hide)
    expect(shown).not.toContain('kkk')
    expect(shown).toContain('→')
  })

  it('are hidden with the longest first, so that no rest of one remains', () => {
    const { replaceIn, hide } = createVariables({ SHORT: 'abcd', LONG: 'abcdefgh' })
    replaceIn(['${SHORT}', '${LONG}'], FILE)
    expect(hide('abcdefgh abcd')).toBe('${LONG} ${SHORT}')
  })

  it('are inserted as they are: they are no patterns and no variables', () => {
    const { replaceIn } = createVariables({ A: '$& ${B} $1', B: 'b' })
    expect(replaceIn('x${A}y', FILE)).toBe('x$& ${B} $1y')
  })
})

describe('a variable that is not set', () => {
  const { replaceIn } = createVariables({})

  it('is refused, except for a secret, which is refused when it is sent', () => {
    expect(() => replaceIn({ url: '${X}' }, FILE)).toThrow('a.yaml: the variable X is not set.')
    expect(() => replaceIn({ secret: 'a${X}' }, FILE)).toThrow('a.yaml: the variable X is not set.')
    const value = replaceIn({ signIn: { clientSecret: '${X}' } }, FILE)
    expect(() => checkSecrets(value)).toThrow('a.yaml: the variable X is not set.')
    expect(() => JSON.stringify(value)).toThrow('a.yaml: the variable X is not set.')
  })
})
