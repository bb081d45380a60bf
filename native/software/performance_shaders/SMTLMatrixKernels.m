#import "SMTLMatrix.h"

@implementation MPSMatrixUnaryKernel

@synthesize sourceMatrixOrigin = _sourceMatrixOrigin;
@synthesize resultMatrixOrigin = _resultMatrixOrigin;
@synthesize batchStart = _batchStart;
@synthesize batchSize = _batchSize;

- (instancetype)initWithDevice:(id<MTLDevice>)device {
    self = [super initWithDevice:device];
    _batchSize = NSUIntegerMax;
    return self;
}

@end

@implementation MPSMatrixBinaryKernel

@synthesize primarySourceMatrixOrigin = _primarySourceMatrixOrigin;
@synthesize secondarySourceMatrixOrigin = _secondarySourceMatrixOrigin;
@synthesize resultMatrixOrigin = _resultMatrixOrigin;
@synthesize batchStart = _batchStart;
@synthesize batchSize = _batchSize;

- (instancetype)initWithDevice:(id<MTLDevice>)device {
    self = [super initWithDevice:device];
    _batchSize = NSUIntegerMax;
    return self;
}

@end
