/** Single defects of a document: one wrong value each, and the place of the fault that names it. */

export const VERSIONS = ['3.0.3', '3.1.1', '3.2.0']
const READ = '/paths/~1orders~1{id}/get'
const WRITE = '/paths/~1orders~1{id}/put'
const ORDER = '/components/schemas/Order'
const GONE = { $ref: '#/components/schemas/Gone' }

export interface Defect {
  /** Place of the wrong value. */
  readonly at: string
  /** The wrong value; undefined removes the member. */
  readonly value: unknown
  /** Place of the fault, if it is not that of the value. */
  readonly fault?: string
  /** Default: all. */
  readonly versions?: readonly string[]
}

export const DEFECTS: Readonly<Record<string, Defect>> = {
  'path item by network': {
    at: '/paths/~1list',
    value: { $ref: 'https://other.example/a.yaml' },
    fault: '/paths/~1list/$ref',
  },
  'path item by file': { at: '/paths/~1list', value: { $ref: './list.yaml' }, fault: '/paths/~1list/$ref' },
  'path item of nothing': { at: '/paths/~1list', value: { $ref: '#/paths/~1gone' }, fault: '/paths/~1list/$ref' },
  'path item of a text': { at: '/paths/~1list', value: { $ref: '#/info/title' }, fault: '/paths/~1list/$ref' },
  'path item of itself': { at: '/paths/~1list', value: { $ref: '#/paths/~1list' }, fault: '/paths/~1list/$ref' },
  'path item that is a list': { at: '/paths/~1list', value: [] },
  'path item that is null': { at: '/paths/~1list', value: null },
  'path without slash': { at: '/paths/list', value: { get: { responses: { 200: { description: '' } } } } },
  'path that no request matches': {
    at: '/paths/~1a~1..~1b',
    value: { get: { responses: { 200: { description: '' } } } },
    fault: '/paths/~1a~1..~1b/get',
  },
  'two paths that match the same requests': {
    at: '/paths/~1orders~1{key}',
    value: { get: { responses: { 200: { description: '' } } } },
    fault: '/paths/~1orders~1{key}/get',
  },
  'unknown member of a path item': { at: '/paths/~1list/fetch', value: {} },
  'operation that is a text': { at: '/paths/~1list/get', value: 'text' },
  'operation that is null': { at: '/paths/~1list/get', value: null },
  'operation id used twice': { at: '/paths/~1list/get/operationId', value: 'readOrder' },
  'operation id that is a number': { at: `${READ}/operationId`, value: 7 },
  'operation without responses': { at: `${READ}/responses`, value: {} },
  'operation with wrong tags': { at: `${READ}/tags`, value: 'orders' },
  'unknown member of an operation': { at: `${READ}/bogus`, value: 1 },
  'parameters that are an object': { at: `${READ}/parameters`, value: {} },
  'parameter of nothing': { at: `${READ}/parameters/0/$ref`, value: '#/components/parameters/Gone' },
  'parameter that is a schema': { at: `${READ}/parameters/0/$ref`, value: '#/components/schemas/Line' },
  'parameter of a network': { at: `${READ}/parameters/0/$ref`, value: 'https://other.example/p' },
  'parameter in a circle': {
    at: '/components/parameters/Fields',
    value: { $ref: '#/components/parameters/Fields' },
    fault: '/components/parameters/Fields/$ref',
  },
  'parameter without name': { at: `${READ}/parameters/1/name`, value: undefined, fault: `${READ}/parameters/1` },
  'parameter without location': { at: `${READ}/parameters/1/in`, value: undefined, fault: `${READ}/parameters/1` },
  'parameter of a wrong location': { at: `${READ}/parameters/1/in`, value: 'body' },
  'parameter of a wrong style': { at: `${READ}/parameters/1/style`, value: 'matrix' },
  'parameter without schema': { at: `${READ}/parameters/1/schema`, value: undefined, fault: `${READ}/parameters/1` },
  'parameter with an unknown type': { at: `${READ}/parameters/1/schema/items/type`, value: 'strin' },
  'parameter with a reference to nothing': {
    at: `${READ}/parameters/1/schema`,
    value: GONE,
    fault: `${READ}/parameters/1/schema/$ref`,
  },
  'path parameter that is optional': { at: '/paths/~1orders~1{id}/parameters/0/required', value: false },
  'path parameter with a negative bound': { at: '/paths/~1orders~1{id}/parameters/0/schema/maxLength', value: -1 },
  'parameter with schema and content': { at: `${READ}/parameters/2/schema`, value: {}, fault: `${READ}/parameters/2` },
  'parameter with a wrong media type': { at: `${READ}/parameters/2/content/application~1json`, value: [] },
  'shared parameter that is a text': { at: '/components/parameters/Fields', value: 'text' },
  'body that is a list': { at: `${WRITE}/requestBody`, value: [] },
  'body without content': { at: `${WRITE}/requestBody/content`, value: undefined, fault: `${WRITE}/requestBody` },
  'body of nothing': {
    at: `${WRITE}/requestBody`,
    value: { $ref: '#/components/requestBodies/Gone' },
    fault: `${WRITE}/requestBody/$ref`,
  },
  'body that is a response': {
    at: `${WRITE}/requestBody`,
    value: { $ref: '#/components/responses/Missing' },
    fault: `${WRITE}/requestBody/$ref`,
  },
  'media type that is a number': { at: `${WRITE}/requestBody/content/application~1json`, value: 1 },
  'media type with a wrong schema': { at: `${WRITE}/requestBody/content/application~1json/schema`, value: 'text' },
  'media type with a wrong encoding': {
    at: `${WRITE}/requestBody/content/multipart~1form-data/encoding/file/contentType`,
    value: 1,
  },
  'response without description': {
    at: `${WRITE}/responses/204/description`,
    value: undefined,
    fault: `${WRITE}/responses/204`,
    versions: ['3.0.3', '3.1.1'],
  },
  'response of nothing': { at: `${READ}/responses/404/$ref`, value: '#/components/responses/Gone' },
  'response that is a parameter': { at: `${READ}/responses/404/$ref`, value: '#/components/parameters/Fields' },
  'response of a wrong status': { at: `${READ}/responses/ok`, value: { description: '' } },
  'response with a schema of nothing': {
    at: `${READ}/responses/200/content/application~1json/schema/$ref`,
    value: '#/components/schemas/Gone',
  },
  'header that is a text': { at: `${READ}/responses/200/headers/ETag`, value: 'text' },
  'header without schema': { at: `${READ}/responses/200/headers/ETag`, value: { description: '' } },
  'link without operation': { at: `${READ}/responses/200/links/self`, value: {}, versions: ['3.1.1', '3.2.0'] },
  'callback that is a text': { at: `${WRITE}/callbacks/written`, value: 'text' },
  'schema that is a list': { at: `${ORDER}/properties/id`, value: [] },
  'schema with a reference to nothing': { at: `${ORDER}/properties/parent/$ref`, value: '#/components/schemas/Gone' },
  'schema with a reference to a file': { at: `${ORDER}/properties/parent/$ref`, value: 'order.json' },
  'schema with a reference to a text': { at: `${ORDER}/properties/parent/$ref`, value: '#/info/title' },
  'schema with a reference to a list': { at: `${ORDER}/properties/parent/$ref`, value: '#/servers' },
  'schema with a reference to a response': { at: `${ORDER}/properties/parent/$ref`, value: '#/components/responses' },
  'schema with a reference that is a number': { at: `${ORDER}/properties/parent/$ref`, value: 7 },
  'schemas of a circle': { at: '/components/schemas/Line', value: { allOf: [{ $ref: '#/components/schemas/Line' }] } },
  'schema of itself': { at: ORDER, value: { $ref: '#/components/schemas/Order' } },
  'schema with an unknown type': { at: `${ORDER}/type`, value: 'objekt' },
  'schema with a wrong required': { at: `${ORDER}/required`, value: 'id' },
  'schema with required twice': { at: `${ORDER}/required`, value: ['id', 'id'] },
  'schema with wrong properties': { at: `${ORDER}/properties`, value: [] },
  'schema with a pattern that is not linear': { at: `${ORDER}/properties/id/pattern`, value: '(?=a)b' },
  'schema with a pattern that is a number': { at: `${ORDER}/properties/id/pattern`, value: 7 },
  'schema with a negative length': { at: `${ORDER}/properties/id/minLength`, value: -1 },
  'schema with a text as bound': { at: '/components/schemas/Line/properties/count/minimum', value: '1' },
  'schema with an enum that is a text': { at: `${ORDER}/properties/state/enum`, value: 'open' },
  'schema with wrong alternatives': { at: `${ORDER}/anyOf`, value: {} },
  'schema with an alternative of nothing': { at: `${ORDER}/anyOf`, value: [GONE], fault: `${ORDER}/anyOf/0/$ref` },
  'security that is an object': { at: '/security', value: { key: [] } },
  'security of a scheme that is not declared': { at: '/security', value: [{ gone: [] }], fault: '/security/0/gone' },
  'security with scopes that are a text': { at: `${WRITE}/security/0/oauth`, value: 'orders:write' },
  'security with a scope that is not a token': { at: `${WRITE}/security/0/oauth`, value: ['a b'] },
  'security of an operation, not declared': {
    at: `${WRITE}/security`,
    value: [{ gone: [] }],
    fault: `${WRITE}/security/0/gone`,
  },
  'security scheme of an unknown type': { at: '/components/securitySchemes/key/type', value: 'secret' },
  'security scheme that is not implemented': {
    at: '/components/securitySchemes/key',
    value: { type: 'http', scheme: 'basic' },
  },
  'security scheme without type': {
    at: '/components/securitySchemes/key/type',
    value: undefined,
    fault: '/components/securitySchemes/key',
  },
  'security scheme that is null': { at: '/components/securitySchemes/key', value: null },
  'security scheme of nothing': {
    at: '/components/securitySchemes/key',
    value: { $ref: '#/components/securitySchemes/gone' },
    fault: '/components/securitySchemes/key/$ref',
  },
  'security scheme by file': {
    at: '/components/securitySchemes/key',
    value: { $ref: 'auth.yaml#/key' },
    fault: '/components/securitySchemes/key/$ref',
  },
  'security scheme without flows': {
    at: '/components/securitySchemes/oauth/flows',
    value: undefined,
    fault: '/components/securitySchemes/oauth',
  },
  'flow without token address': {
    at: '/components/securitySchemes/oauth/flows/clientCredentials/tokenUrl',
    value: undefined,
    fault: '/components/securitySchemes/oauth/flows/clientCredentials',
  },
  'scope that is not a token': {
    at: '/components/securitySchemes/oauth/flows/clientCredentials/scopes',
    value: { 'a b': '' },
  },
  'server without address': { at: '/servers/0/url', value: undefined, fault: '/servers/0' },
  'server that is a text': { at: '/servers/0', value: 'https://orders.example' },
  'server variable without default': { at: '/servers/0/variables/region', value: {} },
  'servers that are an object': { at: '/servers', value: {} },
  'info without title': { at: '/info/title', value: undefined, fault: '/info' },
  'info without version': { at: '/info/version', value: undefined, fault: '/info' },
  'info that is a text': { at: '/info', value: 'Orders' },
  'tag without name': { at: '/tags/0', value: {} },
  'no paths': { at: '/paths', value: {} },
  'paths that are a list': { at: '/paths', value: [] },
  'paths that are missing': { at: '/paths', value: undefined },
  'components that are a list': { at: '/components/schemas', value: [] },
  'components that are null': { at: '/components', value: null },
  'security schemes that are a list': { at: '/components/securitySchemes', value: [] },
  'parameters of the components that are null': { at: '/components/parameters', value: null },
  'component with a wrong name': { at: '/components/schemas/a b', value: {}, versions: ['3.1.1', '3.2.0'] },
  'unknown member of the document': { at: '/bogus', value: 1 },
  'extension of a wrong value': { at: `${WRITE}/x-tollgate-max-body-bytes`, value: -1 },
}
