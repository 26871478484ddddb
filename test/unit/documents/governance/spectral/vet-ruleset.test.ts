import { describe, expect, it } from 'vitest'
import {
  CUSTOM_RULE,
  faultPointers,
  lintJson,
  responding,
  rulesetGiven,
} from '../../../../fixtures/spectral-documents.ts'

describe('a custom rule', () => {
  it.each([
    '$',
    '$.info',
    '$..responses',
    '$.paths.*[get,put]',
    "$.paths[*]['x-y'].a",
    '$.a[0:2].b[-1]^',
    '$.paths~',
    '#OperationObject.parameters[?(@ && @.in)]',
    "$..[?(@property === 'a' || (@.b != null && !@.c['d e'][0]))]",
    '$..[?(@.example !== void 0 && @.x.length >= 2)]',
    '$.paths[?(!@property.match(/^\\/v[0-9]+$/i))]',
  ])('may select values with the path %s', async (path) => {
    expect(faultPointers(rulesetGiven(path))).toEqual([])
    expect((await lintJson(responding({}, 1), rulesetGiven(path))).coverage?.failed.map(({ rule }) => rule)).toEqual(
      // Throws on a member of an undefined value, because the path has no check for it.
      path.includes('.x.length') ? ['mine'] : [],
    )
  })

  it.each([
    '',
    'paths',
    '$.',
    '$[',
    '$..[?(@.constructor)]',
    "$..[?(@['constructor']['constructor']('return process')())]",
    "$..[?(@['const' + 'ructor'])]",
    '$..[?(@.__proto__.polluted = 1)]',
    "$['__proto__']",
    '$.constructor',
    '$..[?(@.a = 1)]',
    '$..[?(process.exit())]',
    '$..[?(@.toString())]',
    "$..[?(@.match('x'))]",
    '$..[?(@property.match(/(a+)+$/))]',
    '$..[?(@property.match(/(?=a)/))]',
    '$..[?(@property.match(/a/g))]',
    '$..[?(`${1}`)]',
    '$..[?(globalThis)]',
    '$..[?(@ in @root)]',
    "$..[?(@.a == 'b\\u0027')]",
    '$..[(@.length-1)]',
    '$..[?(@.a == 1)',
    '$..[?(@.a == 1)] || 1',
    '#Nowhere',
    `$.${'a.'.repeat(300)}b`,
  ])('must not select values with the path "%s"', (path) => {
    expect(faultPointers(rulesetGiven(path))).toEqual(['/rules/mine/given'])
  })
})

const then = { function: 'truthy' }

describe('a ruleset', () => {
  it.each<[string, object, readonly string[]]>([
    ['a name of a Spectral rule', { rules: { 'typed-enum': CUSTOM_RULE } }, ['/rules/typed-enum']],
    ['a name of a built-in rule', { rules: { pagination: CUSTOM_RULE } }, ['/rules/pagination']],
    ['an invalid name', { rules: { __proto__x: CUSTOM_RULE } }, ['/rules/__proto__x']],
    ['the name of an inherited member', { rules: { toString: CUSTOM_RULE } }, ['/rules/toString']],
    ['the name of the prototype', JSON.parse('{"rules":{"__proto__":{"given":"$"}}}') as object, ['/rules/__proto__']],
    ['an expression in a message', { rules: { a: { ...CUSTOM_RULE, message: '#{{1+1}}' } } }, ['/rules/a/message']],
    ['an unknown function', { rules: { a: { given: '$', then: { function: 'eval' } } } }, ['/rules/a/then/function']],
    ['a rule without a function', { rules: { a: { given: '$' } } }, ['/rules/a/then']],
    [
      'a field that is a path',
      { rules: { a: { given: '$', then: { ...then, field: '$..x' } } } },
      ['/rules/a/then/field'],
    ],
    [
      'a field that contains the constructor',
      { rules: { a: { given: '$', then: { ...then, field: 'a.constructor' } } } },
      ['/rules/a/then/field'],
    ],
    [
      'options that the function does not have',
      { rules: { a: { given: '$', then: { function: 'length', functionOptions: { most: 1 } } } } },
      ['/rules/a/then/functionOptions/most'],
    ],
    [
      'a pattern with a back-reference',
      { rules: { a: { given: '$', then: { function: 'pattern', functionOptions: { match: '(a)\\1' } } } } },
      ['/rules/a/then/functionOptions/match'],
    ],
    [
      'expressions in options',
      {
        rules: {
          a: { given: '$', then: { function: 'enumeration', functionOptions: { values: ['#{{1+1}}'] } } },
          b: { given: '$', then: { function: 'pattern', functionOptions: { match: '#{{1+1}}' } } },
        },
      },
      ['/rules/a/then/functionOptions', '/rules/b/then/functionOptions'],
    ],
    ['an unknown member of a rule', { rules: { a: { ...CUSTOM_RULE, eval: 1 } } }, ['/rules/a/eval']],
    ['an unknown severity', { rules: { a: { ...CUSTOM_RULE, severity: 'loud' } } }, ['/rules/a/severity']],
    ['an unknown format', { rules: { a: { ...CUSTOM_RULE, formats: ['oas2'] } } }, ['/rules/a/formats']],
    ['a URL to fetch', { extends: 'https://evil.example/ruleset.js', rules: {} }, ['/extends']],
    ['a file to read', { extends: ['spectral:oas', './ruleset.js'], rules: {} }, ['/extends/1']],
    ['an alias of itself', { aliases: { A: ['#A.b'] }, rules: {} }, ['/aliases/A/0']],
    ['an alias with targets', { aliases: { A: { targets: [] } }, rules: {} }, ['/aliases/A']],
    [
      'more than 200 rules',
      { rules: Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`r${i}`, CUSTOM_RULE])) },
      ['/rules'],
    ],
  ])('is rejected if it has %s', (_, ruleset, pointers) => {
    expect(faultPointers(ruleset)).toEqual(pointers)
  })
})
