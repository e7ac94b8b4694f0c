// Words of gm that cores signal each other by.
#ifndef TILE_WORDS_H
#define TILE_WORDS_H

namespace tile {

// The word as gm has it: its line is dropped from the cache of the scalar unit before.
__aicore__ inline int32_t fresh_word(AscendC::GlobalTensor<int32_t> word, Site site = Site::here())
{
    SiteScope scope(site);
    AscendC::DataCacheCleanAndInvalid<int32_t, AscendC::CacheLine::SINGLE_CACHE_LINE,
        AscendC::DcciDst::CACHELINE_OUT>(word);
    return word.GetValue(0);
}

// Adds to a word, whole against what other cores add; the value goes through a line of ub. The event is one that the
// compiler gives last.
__aicore__ inline void add_gm(AscendC::GlobalTensor<int32_t> word, const AscendC::LocalTensor<int32_t>& line, int32_t value,
    Site site = Site::here())
{
    SiteScope scope(site);
    line.SetValue(0, value);
    AscendC::SetFlag<AscendC::HardEvent::S_MTE3>(EVENT_ID7);
    AscendC::WaitFlag<AscendC::HardEvent::S_MTE3>(EVENT_ID7);
    AscendC::SetAtomicAdd<int32_t>();
    AscendC::DataCopyPad(word, line, AscendC::DataCopyExtParams{1, sizeof(int32_t), 0, 0, 0});
    AscendC::SetAtomicNone();
    AscendC::SetFlag<AscendC::HardEvent::MTE3_S>(EVENT_ID7);
    AscendC::WaitFlag<AscendC::HardEvent::MTE3_S>(EVENT_ID7);
}

}  // namespace tile

#endif
