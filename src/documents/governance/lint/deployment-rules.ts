/** Rules for what a document needs beyond its form to be deployed. A document that breaks them is still judged. */

import { fieldsOf } from '../../../foundation/json/fields.ts'
import { escapePointer } from '../../../foundation/json/references.ts'
import { NAME, readIdentity, VERSION } from '../identity.ts'
import { findScheme, SECURITY } from '../security-schemes.ts'
import { findObstacles } from '../specification.ts'
import type { LintDocument } from './lint-document.ts'
import type { Rule } from './rule.ts'

function* obstaclesAt(pointer: string, { fields }: LintDocument) {
  for (const obstacle of findObstacles(fields)) {
    if (obstacle.pointer === pointer) yield { pointer, message: obstacle.detail }
  }
}

export const DEPLOYMENT_RULES: readonly Rule[] = [
  {
    id: 'version-form',
    category: 'design',
    severity: 'warning',
    message: 'The version is not a semantic version with three numbers.',
    advice: `Write \`info.version\` like 1.4.0. A document with another form, such as a date, is deployed with the version in \`${VERSION}\`.`,
    *find(document) {
      const declared = String(fieldsOf(document.fields['info'])['version'])
      const { version } = readIdentity(document.fields)
      if (version === null) yield* obstaclesAt('/info/version', document)
      else if (version.full !== declared) {
        const message = `The version ${declared.slice(0, 40)} is not a semantic version with three numbers; the platform uses ${version.full}.`
        yield { pointer: '/info/version', message }
      }
    },
  },
  {
    id: 'security-scheme-unsupported',
    category: 'security',
    severity: 'warning',
    message: 'The gateway does not implement the security scheme; it offers callers the other ones only.',
    advice: `Remove the scheme, or add \`${SECURITY}: ignore\` to it.`,
    *find({ fields, operations }) {
      const found = new Set<string>()
      for (const { security } of operations) {
        for (const name of (security ?? []).flatMap((each) => Object.keys(fieldsOf(each)))) found.add(name)
      }
      for (const name of found) {
        if (findScheme(fields, name)?.kind === 'unsupported') yield `/components/securitySchemes/${escapePointer(name)}`
      }
    },
  },
  {
    id: 'title-name',
    category: 'design',
    severity: 'warning',
    message: 'The title yields no technical name, which a deployment needs.',
    advice: `State a name of lower-case letters, digits and hyphens in \`${NAME}\`.`,
    *find(document) {
      yield* obstaclesAt('/info/title', document)
    },
  },
  {
    id: 'webhooks-only',
    category: 'design',
    severity: 'warning',
    message: 'The document declares webhooks only, so that it cannot be deployed.',
    advice: 'Add the operations that the gateway serves to `paths`.',
    *find(document) {
      yield* obstaclesAt('/webhooks', document)
    },
  },
]
