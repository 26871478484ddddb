/** The rules of the comparison: level, message, and an example for the documentation. */

export type ChangeLevel = 'breaking' | 'warning' | 'info'

export const RULES = {
  'operation.removed': ['breaking', 'The operation was removed.', '`GET /cards` is removed'],
  'operation.added': ['info', 'The operation was added.', '`POST /cards` is added'],
  'operation.renamed': [
    'warning',
    'The operationId changed; limits and entitlements that name it no longer apply.',
    '`operationId: list` becomes `listCards`',
  ],
  'operation.units': [
    'warning',
    'The units of a call are counted in another way, so that calls may cost more than callers expect.',
    '`x-tollgate-units: {per: event}` is added',
  ],
  'operation.websocket': ['breaking', 'It became a WebSocket, or is none any more.', '`x-tollgate-websocket` is set'],
  'parameter.removed': ['warning', 'The parameter was removed; the API ignores it.', '`?page` is removed'],
  'parameter.added.required': [
    'breaking',
    'A required parameter was added, which existing clients do not send.',
    '`?region` is added with `required: true`',
  ],
  'parameter.made.required': ['breaking', 'The optional parameter became required.', '`?region` gets `required: true`'],
  'parameter.added': ['info', 'An optional parameter was added.', '`?page` is added'],
  'parameter.moved': [
    'warning',
    'The optional parameter moved; where existing clients send it, it is ignored now.',
    '`X-Region` becomes `?region`',
  ],
  'parameter.moved.required': [
    'breaking',
    'The required parameter moved to another location, where existing clients do not send it.',
    '`X-Region` becomes `?region` with `required: true`',
  ],
  'parameter.reserved': [
    'warning',
    'Reserved characters in the parameter are encoded in another way; the gateway accepts both.',
    '`allowReserved: true` is removed',
  ],
  'parameter.serialization': [
    'breaking',
    'The parameter is written in another way, so existing clients send it wrongly.',
    '`explode: true` becomes `false`',
  ],
  'body.added': ['info', 'An optional request body was added.', '`POST` gets a `requestBody`'],
  'body.added.required': [
    'breaking',
    'A required request body was added, which existing clients do not send.',
    '`POST` gets a `requestBody` with `required: true`',
  ],
  'body.made.required': [
    'breaking',
    'The optional request body became required.',
    '`requestBody` gets `required: true`',
  ],
  'body.removed': ['warning', 'The request body was removed; the API ignores it.', '`requestBody` is removed'],
  'body.size': [
    'breaking',
    'The API refuses bodies of a size that it accepted.',
    '`x-tollgate-max-body-bytes: 5000000` becomes `1000000`',
  ],
  'request.mediaType.removed': [
    'breaking',
    'A media type of the request body was removed, which clients may send.',
    '`application/xml` is removed from a request body',
  ],
  'response.status.removed': [
    'warning',
    'A status is no longer declared; others remain.',
    '`202` is removed beside `200`',
  ],
  'response.success.removed': [
    'breaking',
    'No success status is left that clients expect.',
    '`200` is removed or becomes `201`',
  ],
  'response.mediaType.removed': [
    'warning',
    'A media type of the response was removed; others remain.',
    '`text/csv` is removed beside `application/json`',
  ],
  'response.content.removed': [
    'breaking',
    'The content of the response is no longer declared, so that the response may contain anything.',
    '`content` is removed from a response',
  ],
  'response.mediaType.added': [
    'breaking',
    'The response may have a new media type, which clients do not expect.',
    '`text/csv` is added to a response',
  ],
  'response.status.added': [
    'breaking',
    'The response may have a new status, which clients do not expect.',
    '`202` is added beside `200`',
  ],
  'response.error.added': ['info', 'An error status is declared.', '`404` is added'],
  'response.error.removed': ['info', 'An error status is no longer declared.', '`404` is removed'],
  'request.type': ['breaking', 'The request no longer accepts values of a type.', '`number` becomes `integer`'],
  'response.type': ['breaking', 'The response may contain values of a new type.', '`string` becomes `[string, null]`'],
  'request.enum.removed': [
    'breaking',
    'The request no longer accepts a value of the enum.',
    '`[EUR, USD]` becomes `[EUR]`',
  ],
  'response.enum.added': [
    'breaking',
    'The response may contain a new value of the enum.',
    '`[open]` becomes `[open, held]`',
  ],
  'request.property.required': [
    'breaking',
    'The optional request property became required.',
    '`required: []` becomes `[name]`',
  ],
  'request.property.removed': ['warning', 'The request property is no longer declared.', '`nickname` is removed'],
  'request.property.refused': [
    'breaking',
    'The request property was removed, and the API rejects it.',
    '`nickname` is removed from a schema with `additionalProperties: false`',
  ],
  'request.closed': [
    'breaking',
    'The request no longer accepts undeclared properties.',
    '`additionalProperties: false` is added',
  ],
  'response.property.removed': [
    'breaking',
    'A response property was removed, which clients may read.',
    '`total` is removed',
  ],
  'response.property.optional': [
    'breaking',
    'A response property may now be missing, which clients may rely on.',
    '`required: [total]` becomes `[]`',
  ],
  'request.bound': [
    'breaking',
    'A bound in the request became stricter, so some valid values became invalid.',
    '`maxLength: 64` becomes `32`',
  ],
  'request.pattern': [
    'breaking',
    'The request no longer accepts values that the new pattern does not match.',
    '`pattern` is added',
  ],
  'request.alternative.removed': [
    'breaking',
    'The request no longer accepts one of its alternatives.',
    '`oneOf` of three becomes two',
  ],
  'response.alternative.added': ['breaking', 'The response has a new alternative.', '`oneOf` of two becomes three'],
  'operation.sunset': [
    'info',
    'The operation was removed on or after its sunset date.',
    'an operation with `deprecated: true` and `x-sunset: 2025-01-01` is removed',
  ],
  'operation.deprecated': ['info', 'The operation became deprecated.', '`deprecated: true` is added'],
  'response.header.removed': [
    'breaking',
    'A response header was removed, which clients may read.',
    '`ETag` is removed from a response',
  ],
  'response.header.added': ['info', 'A response header was added.', '`ETag` is added to a response'],
  'response.header.optional': [
    'breaking',
    'A response header may now be missing, which clients may rely on.',
    '`required: true` is removed from `ETag`',
  ],
  'request.format': [
    'breaking',
    'The request no longer accepts values that do not have the new format.',
    '`format: uuid` is added',
  ],
  'response.format': [
    'breaking',
    'The response may contain values of a new format.',
    '`format: date-time` becomes `date`',
  ],
  'response.bound': [
    'breaking',
    'The response may contain values outside of a former bound.',
    '`maxLength: 32` becomes `64`',
  ],
  'response.pattern': [
    'breaking',
    'The response may contain values that the former pattern does not match.',
    '`pattern` is removed',
  ],
  'response.opened': [
    'breaking',
    'The response may contain undeclared properties.',
    '`additionalProperties: false` is removed',
  ],
  'request.narrowed': [
    'breaking',
    'The request no longer accepts some values that it accepted.',
    '`propertyNames` is added',
  ],
  'response.widened': [
    'breaking',
    'The response may contain values that it could not contain.',
    '`not: {required: [error]}` is removed',
  ],
  'request.undecided': [
    'breaking',
    'The request cannot be shown to accept every value that it accepted.',
    '`pattern: ^a+$` becomes `^a*a$`',
  ],
  'response.undecided': [
    'warning',
    'The response cannot be shown to be compatible: it may contain values that it could not contain.',
    '`pattern: ^a*a$` becomes `^a+$`',
  ],
  'request.unvalidated': [
    'warning',
    'The schema of a request body may have become stricter; the gateway does not validate this media type.',
    'a field of `multipart/form-data` becomes required',
  ],
  'response.unwatched': [
    'warning',
    'The schema of a response may have become wider; the gateway does not check this media type.',
    '`text/csv` gets a longer `maxLength`',
  ],
  'request.property.added': ['info', 'An optional property was added to the request.', '`nickname` is added'],
  'response.property.added': ['info', 'A property was added to the response.', '`nickname` is added'],
  'response.property.undeclared': [
    'warning',
    'An optional property of the response is no longer declared.',
    '`nickname` is removed from a response with `additionalProperties: false`',
  ],
  'request.default': ['warning', 'The default of an optional value changed.', '`default: 50` becomes `20`'],
  'discriminator.changed': [
    'breaking',
    'The discriminator between the alternatives changed.',
    '`propertyName: kind` becomes `type`',
  ],
  'security.removed': ['breaking', 'The operation no longer requires authentication.', '`[oauth]` becomes `[]`'],
  'security.optional': [
    'warning',
    'The operation now accepts calls without a credential beside those with one.',
    '`[oauth]` becomes `[oauth, {}]`',
  ],
  'security.key.scopes': [
    'warning',
    'The operation now refuses API keys of subscriptions without the scopes that it requires of tokens.',
    '`[key]` becomes `[key, oauth: [cards:read]]`',
  ],
  'security.certificate.required': [
    'breaking',
    'The operation now requires a client certificate.',
    '`x-tollgate-client-certificate: required` is added',
  ],
  'security.certificate.removed': [
    'warning',
    'The operation no longer requires a client certificate.',
    '`required` becomes `not-required`',
  ],
  'server.path': [
    'warning',
    'The base path of the servers changed; clients that call the servers directly use the former one.',
    '`https://api.example/v1` becomes `https://api.example/v2`',
  ],
  'webhook.added': ['info', 'A webhook was added.', '`cardIssued` is added'],
  'webhook.removed': ['info', 'A webhook was removed.', '`cardIssued` is removed'],
  'webhook.changed': ['info', 'A webhook changed.', 'the payload of `cardIssued` changes'],
  'callback.added': ['info', 'A callback was added.', '`onPaid` is added'],
  'callback.removed': ['info', 'A callback was removed.', '`onPaid` is removed'],
  'callback.changed': ['info', 'A callback changed.', 'the payload of `onPaid` changes'],
  'operation.sunset.missing': [
    'off',
    'The operation became deprecated without the date of its sunset.',
    '`deprecated: true` is added without `x-sunset`',
  ],
  'operation.sunset.near': [
    'off',
    'The sunset of the operation is less than 90 days away.',
    '`x-sunset` is set to next week',
  ],
  'operation.stability.lowered': [
    'off',
    'The operation is less stable than it was.',
    '`x-stability-level: stable` becomes `beta`',
  ],
  'enum.extensible.removed': [
    'off',
    'A value was removed from an extensible enum.',
    '`x-extensible-enum: [EUR, USD]` becomes `[EUR]`',
  ],
  'security.narrowed': [
    'breaking',
    'The operation no longer accepts credentials that it accepted before.',
    '`[cards:read]` becomes `[cards:read, cards:write]`',
  ],
} as const satisfies Readonly<Record<string, readonly [level: ChangeLevel | 'off', message: string, example: string]>>

export type RuleId = keyof typeof RULES
