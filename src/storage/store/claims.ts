/**
 * Claims on background jobs: of several nodes, one does a job, and another one takes over after it ended.
 *
 * A claim expires by the clock of the store, unless it is renewed. A holder that was interrupted may notice the end of its claim late,
 * so whatever it writes must be rejected if another holder was faster: by the revision of a document, or by the fence.
 */

export interface Claim {
  readonly name: string
  /** Grows with every claim of the name. */
  readonly fence: number
}

export interface Claims {
  /** Returns the claim, or null while another holder has it. The same holder gets it again, with a higher fence. Throws `StoreUnwritable`. */
  claim(name: string, holder: string, ttlMs: number): Promise<Claim | null>
  /** Returns whether the claim continues, for `ttlMs` from now; false: another holder has it, or had it. Throws `StoreUnwritable`. */
  renew(claim: Claim, ttlMs: number): Promise<boolean>
  /** Ends a claim; one that has passed to another holder stays with it. Throws `StoreUnwritable`. */
  release(claim: Claim): Promise<void>
}

/** Returns the claims of a single node, which always succeed. */
export function createLocalClaims(): Claims {
  let fence = 0
  return {
    claim: async (name) => ({ name, fence: ++fence }),
    renew: async () => true,
    release: async () => {},
  }
}
