/** Differences between the gateway and the suites, with their reasons. */

import type { ReasonedDifferences } from './run-suite.ts'

/** Cases from the text of the specification. */
export const SPECIFICATION: readonly ReasonedDifferences[] = [
  {
    reason:
      'A reference is a JSON pointer from the root of the document: identifiers, anchors and other documents are refused.',
    differences: {
      'specification › 8.2.2 $ref to an $anchor': 'refused',
      'specification › 8.2.1 $ref to the $id of an embedded schema': 'refused',
      'specification › 9.2 $ref to another document': 'refused',
    },
  },
  {
    reason: 'A reference starts at the root of the document: $id sets no base.',
    differences: {
      'specification › 8.2.1 $id changes the base of the references below it': 'refused',
    },
  },
  {
    reason: '$dynamicRef is not evaluated, and refused.',
    differences: {
      'specification › 8.2.3.2 $dynamicRef to a $dynamicAnchor': 'refused',
    },
  },
  {
    reason: 'Patterns run in linear time: look-around and references back are refused.',
    differences: {
      'specification › 6.3.3 pattern with a look-ahead': 'refused',
      'specification › 6.3.3 pattern with a reference back': 'refused',
    },
  },
  {
    reason: 'Formats are asserted.',
    differences: {
      'specification › 7 format is an annotation by default': ['"no address"'],
    },
  },
]

/** Draft 4 of the suite, with schemas of OpenAPI 3.0. */
export const DRAFT_4: readonly ReasonedDifferences[] = [
  {
    reason: 'OpenAPI 3.0 does not have the keyword or the form of it, so the document is refused.',
    differences: {
      'additionalItems.json › additionalItems as schema': 'refused',
      'additionalItems.json › items is schema, no additionalItems': 'refused',
      'additionalItems.json › array of items with no additionalItems': 'refused',
      'additionalItems.json › additionalItems as false without items': 'refused',
      'additionalItems.json › additionalItems are allowed by default': 'refused',
      'additionalProperties.json › additionalProperties being false does not allow other properties': 'refused',
      'allOf.json › allOf with base schema': 'refused',
      'dependencies.json › dependencies': 'refused',
      'dependencies.json › multiple dependencies': 'refused',
      'dependencies.json › multiple dependencies subschema': 'refused',
      'items.json › an array of schemas for items': 'refused',
      'not.json › not multiple types': 'refused',
      'patternProperties.json › patternProperties validates properties matching a regex': 'refused',
      'patternProperties.json › multiple simultaneous patternProperties are validated': 'refused',
      'patternProperties.json › regexes are not anchored by default and are case sensitive': 'refused',
      'properties.json › properties, patternProperties, additionalProperties interaction': 'refused',
      'ref.json › relative pointer ref to array': 'refused',
      'ref.json › escaped pointer ref': 'refused',
      'type.json › null type matches only the null object': 'refused',
      'type.json › multiple types can be specified in an array': 'refused',
    },
  },
  {
    reason:
      'A reference is a JSON pointer from the root of the document: identifiers, anchors and other documents are refused.',
    differences: {
      'definitions.json › valid definition': 'refused',
      'definitions.json › invalid definition': 'refused',
      'ref.json › remote ref, containing refs itself': 'refused',
      'refRemote.json › remote ref': 'refused',
      'refRemote.json › fragment within remote ref': 'refused',
      'refRemote.json › ref within remote ref': 'refused',
      'refRemote.json › change resolution scope': 'refused',
    },
  },
  {
    reason: 'The format uri takes absolute URIs alone (RFC 3986, 4.3).',
    differences: {
      'optional/format.json › validation of URIs': ['a valid protocol-relative URI'],
    },
  },
  {
    reason: 'A number without a fractional part is an integer, as in every later draft and in JSON Schema 2020-12.',
    differences: {
      'optional/zeroTerminatedFloats.json › some languages do not distinguish between different types of numeric value':
        ['a float is not an integer even without fractional part'],
    },
  },
]
