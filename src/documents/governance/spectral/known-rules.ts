/**
 * Rules of Spectral's OpenAPI ruleset and of the OWASP ruleset: which of them apply to every document, and
 * why the others do not. A tenant's ruleset can activate any of them.
 */

import owaspRuleset from '@stoplight/spectral-owasp-ruleset'
import spectralRulesets from '@stoplight/spectral-rulesets'
import type { RuleDefinition, RulesetDefinition } from '@stoplight/spectral-core'
import { withTolerantFunctions } from './tolerant-functions.ts'
import type { FindingCategory, FindingSeverity } from '../finding.ts'
import { ownSeverityOf } from '../ruleset-document.ts'

export interface KnownRule {
  readonly id: string
  readonly category: FindingCategory
  /** Severity if no ruleset changes it. */
  readonly standard: FindingSeverity
  /** Severity that its authors chose, used if a ruleset activates the rule. */
  readonly severity: FindingSeverity
  /** True if Spectral activates the rule by default. */
  readonly isRecommended: boolean
  /** Why the rule does not apply by default; null: it applies. */
  readonly leftOut: string | null
  readonly description: string
  /** False: the rule checks the document with its references as they are. */
  readonly isResolved: boolean
}

export const SPECTRAL_OAS = spectralRulesets.oas as RulesetDefinition
export const SPECTRAL_OWASP = withTolerantFunctions(
  ((owaspRuleset as { default?: unknown }).default ?? owaspRuleset) as RulesetDefinition,
)

/** Rules that report the same flaw as a rule of ours, which checks documents of any size. A flaw costs points once. */
const COVERED: Readonly<Record<string, string>> = {
  'operation-success-response': 'success-response',
  'operation-description': 'operation-summary',
  'operation-operationId': 'operation-id',
  'path-keys-no-trailing-slash': 'path-trailing-slash',
  'oas3-parameter-description': 'parameter-description',
  'operation-operationId-valid-in-url': 'operation-id-spelling',
  'path-declarations-must-exist': 'valid',
  'path-not-include-query': 'valid',
  'oas3-schema': 'valid',
  'operation-operationId-unique': 'valid',
  'owasp:api1:2023-no-numeric-ids': 'security-guessable-id',
  'owasp:api2:2023-no-http-basic': 'security-weak-scheme',
  'owasp:api2:2023-auth-insecure-schemes': 'security-weak-scheme',
  'owasp:api2:2023-no-api-keys-in-url': 'security-key-in-url',
  'owasp:api2:2023-no-credentials-in-url': 'security-key-in-url',
  'owasp:api2:2023-write-restricted': 'security-declared',
  'owasp:api2:2023-read-restricted': 'security-declared',
  'owasp:api3:2023-no-additionalProperties': 'security-mass-assignment',
  'owasp:api4:2023-string-limit': 'security-unbounded-string',
  'owasp:api4:2023-string-restricted': 'security-unbounded-string',
  'owasp:api4:2023-array-limit': 'security-unbounded-array',
  'owasp:api4:2023-integer-limit': 'security-unbounded-number',
  'owasp:api4:2023-integer-limit-legacy': 'security-unbounded-number',
  'owasp:api4:2023-integer-format': 'security-unbounded-number',
  'owasp:api4:2023-rate-limit-responses-429': 'security-missing-429',
  'owasp:api8:2023-define-error-validation': 'security-missing-400',
  'owasp:api8:2023-define-error-responses-401': 'security-missing-401',
  'owasp:api8:2023-no-server-http': 'security-plain-http',
}

const GATEWAY_ANSWERS = 'The gateway adds these headers to every response.'
const REASONS: Readonly<Record<string, string>> = {
  'owasp:api4:2023-rate-limit': GATEWAY_ANSWERS,
  'owasp:api4:2023-rate-limit-retry-after': GATEWAY_ANSWERS,
  'owasp:api2:2023-short-lived-access-tokens': 'Client credentials have no refresh token (RFC 6749, 4.4.3).',
  'owasp:api2:2023-jwt-best-practices': 'The gateway issues the tokens and follows RFC 8725.',
  'owasp:api8:2023-define-cors-origin': 'Callers are programs, not pages of other origins.',
  'owasp:api8:2023-define-error-responses-500': '`5XX` and `default` declare it too.',
  'owasp:api9:2023-inventory-access': 'The policy of the API decides on exposure, not its document.',
  'oas3-api-servers': 'The proxy names the server, not the document.',
  'owasp:api9:2023-inventory-environment': 'The proxy names the server, not the document.',
}
/** Rules about order and style. They are hints at most, because such a flaw does not keep an API from being served. */
const HINTS: ReadonlySet<string> = new Set([
  'operation-tags',
  'operation-tag-defined',
  'oas3-unused-component',
  'no-$ref-siblings',
])
/** Advice for rules whose authors give none. */
const MISSING: Readonly<Record<string, string>> = {
  'owasp:api5:2023-admin-security-unique': 'Operations for administrators need a separate security scheme.',
}
const NOT_RECOMMENDED = 'Spectral does not activate it by default.'

const DOCUMENTATION =
  /tag|description|contact|license|example|info-|unused-component|typed-enum|duplicated-entry|markdown/
const SECURITY = /^owasp:|no-eval-in-markdown|no-script-tags|security-defined/
/** Rules of ours that have the same name and purpose. */
const OURS: ReadonlySet<string> = new Set(['info-contact', 'info-description'])

/** Sorted by name. Rules for Swagger 2.0 are left out, because such documents are not served. */
export const KNOWN_RULES: readonly KnownRule[] = [SPECTRAL_OAS, SPECTRAL_OWASP]
  .flatMap((ruleset) => Object.entries('rules' in ruleset ? ruleset.rules : {}))
  .filter(([id]) => !id.startsWith('oas2-') && id !== 'owasp:api8:2023-no-scheme-http' && !OURS.has(id))
  .map(([id, definition]) => toRule(id, definition as RuleDefinition))
  .sort((a, b) => (a.id < b.id ? -1 : 1))

function toRule(id: string, { description, message, severity, recommended, resolved }: RuleDefinition): KnownRule {
  const isRecommended = recommended !== false
  const covered = COVERED[id]
  const own = ownSeverityOf(severity)
  return {
    id,
    category: SECURITY.test(id) ? 'security' : DOCUMENTATION.test(id) ? 'documentation' : 'design',
    standard: HINTS.has(id) ? 'info' : own === 'error' ? 'warning' : own,
    severity: own,
    isRecommended,
    leftOut:
      covered !== undefined ? `\`${covered}\` finds it.` : (REASONS[id] ?? (isRecommended ? null : NOT_RECOMMENDED)),
    // Some rules have no description, or a blank one.
    description: ([description, message].find((text) => text?.trim() && !text.includes('{{')) ?? MISSING[id] ?? id)
      .trim()
      .split('\n')[0]!,
    isResolved: resolved !== false,
  }
}
