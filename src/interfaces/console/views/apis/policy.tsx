/** The access policy of an API, and the policy of the organisation that applies as well. */

import { change, readVersion } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useRead } from '../../api/use-read.ts'
import { CheckField, SelectField, TextField } from '../../parts/fields.tsx'
import { JsonDocument } from '../../parts/json-document.tsx'
import { Loaded } from '../../parts/states.tsx'
import { BASE } from '../../router.ts'
import { may, scopes } from '../../shell/person.ts'
import { texts } from '../../texts.ts'
import type { ApiTabProps } from './api-tab.ts'
import { CorsFields } from './cors-fields.tsx'
import { readCors } from './cors-form.ts'

type Policy = Answer<'/v1/apis/:name/policy'>

const words = texts.apiPolicy

export function ApiPolicy({ api: { id: name } }: ApiTabProps) {
  const params = { name }
  return (
    <>
      <p class="quiet">{words.lead}</p>
      <JsonDocument<Policy>
        id={`policy ${name}`}
        label={words.label(name)}
        load={async (signal) => readVersion('/v1/apis/:name/policy', { params, signal })}
        save={async (value, etag) =>
          change('PUT /v1/apis/:name/policy', params, value, etag === undefined ? {} : { etag })
        }
        verb={words.save}
        saved={words.saved(name)}
        mayChange={scopes.value.has('apis:write')}
        form={(value, set, faultAt) => <PolicyFields value={value} set={set} faultAt={faultAt} />}
      />
      {may('policy:read') && <Inherited />}
    </>
  )
}

interface FieldsProps {
  readonly value: Policy
  readonly set: (value: Policy) => void
  readonly faultAt: (pointer: string) => string | undefined
}

function PolicyFields({ value, set, faultAt }: FieldsProps) {
  const { subscriptionApproval, exposure, tokenAlgorithm, credentialLifetimeDays, mcp } = value
  return (
    <>
      <SelectField
        label={words.approval}
        value={subscriptionApproval}
        options={[
          ['Auto', words.approvals.Auto],
          ['Manual', words.approvals.Manual],
        ]}
        onChange={(next) => set({ ...value, subscriptionApproval: next as Policy['subscriptionApproval'] })}
      />
      <SelectField
        label={words.exposure}
        value={exposure}
        options={[
          ['Internal', words.exposures.Internal],
          ['Partner', words.exposures.Partner],
          ['Public', words.exposures.Public],
        ]}
        onChange={(next) => set({ ...value, exposure: next as Policy['exposure'] })}
      />
      <SelectField
        label={words.algorithm}
        value={tokenAlgorithm}
        options={[
          ['ES256', 'ES256'],
          ['RS256', 'RS256'],
        ]}
        onChange={(next) => set({ ...value, tokenAlgorithm: next as Policy['tokenAlgorithm'] })}
      />
      <TextField
        label={words.lifetime}
        hint={words.lifetimeHint}
        fault={faultAt('/credentialLifetimeDays')}
        type="number"
        value={String(credentialLifetimeDays)}
        onChange={(next) => set({ ...value, credentialLifetimeDays: Number(next) })}
      />
      <CheckField label={words.mcp} value={mcp} onChange={(next) => set({ ...value, mcp: next })} />
      <CorsFields value={readCors(value.cors)} onChange={(cors) => set({ ...value, cors })} faultAt={faultAt} />
    </>
  )
}

/** The conditions of the organisation, under which a new version of the API is approved. */
function Inherited() {
  const reading = useRead('/v1/policy')
  return (
    <section>
      <h2>{words.inherited}</h2>
      <Loaded reading={reading}>
        {({ approval: { minScore, allowErrors, allowBreaking, exposures }, ruleset, secondFactor }) => (
          <dl class="facts">
            <dt>{words.versions}</dt>
            <dd>
              {words.minScore(minScore)}; {allowErrors ? words.errorsAllowed : words.errorsRefused};{' '}
              {allowBreaking ? words.breakingAllowed : words.breakingRefused}
            </dd>
            <dt>{words.withoutDecision}</dt>
            <dd>{exposures.length === 0 ? words.none : exposures.join(', ')}</dd>
            <dt>{words.ruleset}</dt>
            <dd>
              {typeof ruleset === 'string' ? (
                <a href={`${BASE}governance/rulesets/${encodeURIComponent(ruleset)}`}>{ruleset}</a>
              ) : (
                words.builtInRules
              )}
            </dd>
            <dt>{words.secondFactor}</dt>
            <dd>{secondFactor === 'required' ? words.required : words.notRequired}</dd>
          </dl>
        )}
      </Loaded>
      <p>
        <a href={`${BASE}governance/policy`}>{words.openTenantPolicy}</a>
      </p>
    </section>
  )
}
