/** Differences between the gateway and draft 2020-12 of the JSON Schema Test Suite, with their reasons. */

import type { ReasonedDifferences } from './run-suite.ts'

/** Draft 2020-12 of the suite, as Debian packages it. */
export const DRAFT_2020_12: readonly ReasonedDifferences[] = [
  {
    reason:
      'A reference is a JSON pointer from the root of the document: identifiers, anchors and other documents are refused.',
    differences: {
      'anchor.json › Location-independent identifier': 'refused',
      'anchor.json › Location-independent identifier with absolute URI': 'refused',
      'anchor.json › Location-independent identifier with base URI change in subschema': 'refused',
      'anchor.json › $anchor inside an enum is not a real identifier': 'refused',
      'anchor.json › same $anchor with different base uri': 'refused',
      'anchor.json › invalid anchors': 'refused',
      'defs.json › validate definition against metaschema': 'refused',
      'dynamicRef.json › A $ref to a $dynamicAnchor in the same schema resource behaves like a normal $ref to an $anchor':
        'refused',
      'dynamicRef.json › A $dynamicRef resolves to the first $dynamicAnchor still in scope that is encountered when the schema is evaluated':
        'refused',
      'dynamicRef.json › A $dynamicRef without anchor in fragment behaves identical to $ref': 'refused',
      "dynamicRef.json › A $dynamicRef with intermediate scopes that don't include a matching $dynamicAnchor does not affect dynamic scope resolution":
        'refused',
      'dynamicRef.json › An $anchor with the same name as a $dynamicAnchor is not used for dynamic scope resolution':
        'refused',
      'dynamicRef.json › A $dynamicRef without a matching $dynamicAnchor in the same schema resource behaves like a normal $ref to $anchor':
        'refused',
      'dynamicRef.json › A $dynamicRef with a non-matching $dynamicAnchor in the same schema resource behaves like a normal $ref to $anchor':
        'refused',
      'dynamicRef.json › A $dynamicRef that initially resolves to a schema with a matching $dynamicAnchor resolves to the first $dynamicAnchor in the dynamic scope':
        'refused',
      'dynamicRef.json › A $dynamicRef that initially resolves to a schema without a matching $dynamicAnchor behaves like a normal $ref to $anchor':
        'refused',
      'dynamicRef.json › multiple dynamic paths to the $dynamicRef keyword': 'refused',
      'dynamicRef.json › after leaving a dynamic scope, it is not used by a $dynamicRef': 'refused',
      'dynamicRef.json › strict-tree schema, guards against misspelled properties': 'refused',
      'dynamicRef.json › tests for implementation dynamic anchor and reference link': 'refused',
      'dynamicRef.json › $ref and $dynamicAnchor are independent of order - $defs first': 'refused',
      'dynamicRef.json › $ref and $dynamicAnchor are independent of order - $ref first': 'refused',
      'id.json › Invalid use of fragments in location-independent $id': 'refused',
      'id.json › Valid use of empty fragments in location-independent $id': 'refused',
      'id.json › Unnormalized $ids are allowed but discouraged': 'refused',
      'id.json › $id inside an enum is not a real identifier': 'refused',
      'optional/cross-draft.json › refs to historic drafts are processed as historic drafts': 'refused',
      'optional/ecmascript-regex.json › \\a is not an ECMA 262 control escape': 'refused',
      'ref.json › remote ref, containing refs itself': 'refused',
      'ref.json › Recursive references between schemas': 'refused',
      'ref.json › relative refs with absolute uris and defs': 'refused',
      'ref.json › $id must be resolved against nearest parent, not just immediate parent': 'refused',
      'ref.json › order of evaluation: $id and $ref': 'refused',
      'ref.json › order of evaluation: $id and $anchor and $ref': 'refused',
      'ref.json › simple URN base URI with $ref via the URN': 'refused',
      'ref.json › URN base URI with f-component': 'refused',
      'ref.json › URN base URI with URN and anchor ref': 'refused',
      'ref.json › URN ref with nested pointer ref': 'refused',
      'ref.json › ref to if': 'refused',
      'ref.json › ref to then': 'refused',
      'ref.json › ref to else': 'refused',
      'ref.json › ref with absolute-path-reference': 'refused',
      'refRemote.json › remote ref': 'refused',
      'refRemote.json › fragment within remote ref': 'refused',
      'refRemote.json › anchor within remote ref': 'refused',
      'refRemote.json › ref within remote ref': 'refused',
      'refRemote.json › base URI change': 'refused',
      'refRemote.json › base URI change - change folder': 'refused',
      'refRemote.json › base URI change - change folder in subschema': 'refused',
      'refRemote.json › root ref in remote ref': 'refused',
      'refRemote.json › remote ref with ref to defs': 'refused',
      'refRemote.json › Location-independent identifier in remote ref': 'refused',
      'refRemote.json › retrieved nested refs resolve relative to their URI not $id': 'refused',
      'refRemote.json › remote HTTP ref with different $id': 'refused',
      'refRemote.json › remote HTTP ref with different URN $id': 'refused',
      'refRemote.json › remote HTTP ref with nested absolute ref': 'refused',
      'unknownKeyword.json › $id inside an unknown keyword is not a real identifier': 'refused',
    },
  },
  {
    reason: '$dynamicRef is not evaluated, and refused.',
    differences: {
      'dynamicRef.json › A $dynamicRef to a $dynamicAnchor in the same schema resource behaves like a normal $ref to an $anchor':
        'refused',
      'dynamicRef.json › A $dynamicRef to an $anchor in the same schema resource behaves like a normal $ref to an $anchor':
        'refused',
    },
  },
  {
    reason: 'The keyword dependencies is none of 2020-12.',
    differences: {
      'optional/dependencies-compatibility.json › single dependency': ['missing dependency'],
      'optional/dependencies-compatibility.json › multiple dependents required': [
        'missing dependency',
        'missing other dependency',
        'missing both dependencies',
      ],
      'optional/dependencies-compatibility.json › dependencies with escaped characters': [
        'CRLF missing dependent',
        'quoted quotes missing dependent',
      ],
      'optional/dependencies-compatibility.json › single schema dependency': [
        'wrong type',
        'wrong type other',
        'wrong type both',
      ],
      'optional/dependencies-compatibility.json › boolean subschemas': [
        'object with property having schema false is invalid',
        'object with both properties is invalid',
      ],
      'optional/dependencies-compatibility.json › schema dependencies with escaped characters': [
        'quoted quote',
        'quoted tab invalid under dependent schema',
        'quoted quote invalid under dependent schema',
      ],
    },
  },
  {
    reason: 'The format email takes no quoted local part and no address literal.',
    differences: {
      'optional/format/email.json › validation of e-mail addresses': [
        'a quoted string with a space in the local part is valid',
        'a quoted string with a double dot in the local part is valid',
        'a quoted string with a @ in the local part is valid',
        'an IPv4-address-literal after the @ is valid',
        'an IPv6-address-literal after the @ is valid',
      ],
    },
  },
  {
    reason: 'The gateway does not know the format, so it is an annotation.',
    differences: {
      'optional/format/idn-email.json › validation of an internationalized e-mail addresses': [
        'an invalid idn e-mail address',
        'an invalid e-mail address',
      ],
      'optional/format/idn-hostname.json › validation of internationalized host names': [
        'illegal first char U+302E Hangul single dot tone mark',
        'contains illegal char U+302E Hangul single dot tone mark',
        'a host name with a component too long',
        'invalid label, correct Punycode',
        'invalid Punycode',
        'U-label contains "--" in the 3rd and 4th position',
        'U-label starts with a dash',
        'U-label ends with a dash',
        'U-label starts and ends with a dash',
        'Begins with a Spacing Combining Mark',
        'Begins with a Nonspacing Mark',
        'Begins with an Enclosing Mark',
        'Exceptions that are DISALLOWED, right-to-left chars',
        'Exceptions that are DISALLOWED, left-to-right chars',
        "MIDDLE DOT with no preceding 'l'",
        'MIDDLE DOT with nothing preceding',
        "MIDDLE DOT with no following 'l'",
        'MIDDLE DOT with nothing following',
        'Greek KERAIA not followed by Greek',
        'Greek KERAIA not followed by anything',
        'Hebrew GERESH not preceded by Hebrew',
        'Hebrew GERESH not preceded by anything',
        'Hebrew GERSHAYIM not preceded by Hebrew',
        'Hebrew GERSHAYIM not preceded by anything',
        'KATAKANA MIDDLE DOT with no Hiragana, Katakana, or Han',
        'KATAKANA MIDDLE DOT with no other characters',
        'Arabic-Indic digits mixed with Extended Arabic-Indic digits',
        'ZERO WIDTH JOINER not preceded by Virama',
        'ZERO WIDTH JOINER not preceded by anything',
      ],
      'optional/format/iri-reference.json › validation of IRI References': [
        'an invalid IRI Reference',
        'an invalid IRI fragment',
      ],
      'optional/format/iri.json › validation of IRIs': [
        'an invalid IRI based on IPv6',
        'an invalid relative IRI Reference',
        'an invalid IRI',
        'an invalid IRI though valid IRI reference',
      ],
    },
  },
  {
    reason: 'A reference starts at the root of the document: $id sets no base.',
    differences: {
      'ref.json › refs with relative uris and defs': 'refused',
      'ref.json › URN base URI with URN and JSON pointer ref': 'refused',
    },
  },
  {
    reason: 'Vocabularies of another metaschema are not read: all keywords of 2020-12 apply.',
    differences: {
      'vocabulary.json › schema that uses custom metaschema with with no validation vocabulary': [
        'no validation: invalid number, but it still validates',
      ],
    },
  },
]
